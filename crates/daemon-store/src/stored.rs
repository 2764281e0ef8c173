//! Values that every durable store keeps as text, in one form.

pub mod answer;
pub mod facts;
pub mod occasion;
pub mod roster;

use crate::error::StoreError;

/// Writes the indexes of conditions.
pub fn conditions_to_text(conditions: &[u32]) -> String {
    serde_json::to_string(conditions).expect("numbers are JSON")
}

/// Reads the indexes of conditions.
///
/// # Errors
/// `Damaged` for a string that [`conditions_to_text`] did not write.
pub fn conditions_from_text(text: &str) -> Result<Vec<u32>, StoreError> {
    serde_json::from_str(text).map_err(|error| damaged("column `conditions`", error))
}

fn damaged(context: &str, source: impl std::error::Error + Send + Sync + 'static) -> StoreError {
    StoreError::Damaged {
        context: context.to_owned(),
        source: Some(Box::new(source)),
    }
}
