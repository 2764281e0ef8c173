//! Skills that a caller selects for one run.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use daemon_spec::{DocumentNode, NodeValue, Shape, YamlDocument, quoted};

use super::{Fault, front_matter, scalar};

/// The most skills that one task may select.
pub const MAX_SKILLS: usize = 32;
/// The largest skill file, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;
const FILE: &str = "SKILL.md";

/// The front matter of a skill, as the prompt lists it. The run reads the file itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// The name from the front matter.
    pub name: String,
    /// The absolute path of `SKILL.md`.
    pub location: PathBuf,
    /// The description from the front matter.
    pub description: String,
}

/// Reads the front matter of skills. Each is given as its directory or its file, relative to `cwd`; duplicates are removed.
///
/// # Errors
/// Returns a fault for each invalid skill: the first one in it.
pub fn skills(names: &[String], cwd: Option<&Path>) -> Result<Vec<Skill>, Vec<Fault>> {
    let mut seen = BTreeSet::new();
    let (mut skills, mut faults) = (Vec::new(), Vec::new());
    if names.len() > MAX_SKILLS {
        faults.push(Fault::new("skills", format!("more than {MAX_SKILLS}")));
        return Err(faults);
    }
    for (index, name) in names.iter().enumerate() {
        let read = locate(name, cwd).and_then(|location| {
            // Compared after symbolic links are resolved: a directory and its file name the same skill.
            if !seen.insert(location.clone()) {
                return Ok(None);
            }
            read(location).map(Some)
        });
        match read {
            Ok(skill) => skills.extend(skill),
            Err(problem) => faults.push(Fault::new(format!("skills[{index}]"), problem)),
        }
    }
    if faults.is_empty() {
        Ok(skills)
    } else {
        Err(faults)
    }
}

/// Finds the file of a skill.
fn locate(name: &str, cwd: Option<&Path>) -> Result<PathBuf, &'static str> {
    let given = Path::new(name);
    let path = match cwd {
        Some(cwd) => cwd.join(given),
        None if given.is_absolute() => given.to_owned(),
        None => return Err("not found"),
    };
    if name.is_empty() {
        return Err("not found");
    }
    let resolved = |path: &Path| fs::canonicalize(path).or(Err("not found"));
    let path = resolved(&path)?;
    if path.is_dir() {
        let file = resolved(&path.join(FILE))?;
        return if file.is_file() {
            Ok(file)
        } else {
            Err("not found")
        };
    }
    if path.file_name().is_none_or(|name| name != FILE) {
        return Err("not named SKILL.md");
    }
    if path.is_file() {
        Ok(path)
    } else {
        Err("not found")
    }
}

fn read(location: PathBuf) -> Result<Skill, &'static str> {
    const INVALID: &str = "invalid front matter";
    let size = fs::metadata(&location).map(|metadata| metadata.len());
    if size.or(Err("not found"))? > MAX_BYTES {
        return Err(INVALID);
    }
    let text = fs::read_to_string(&location).or(Err(INVALID))?;
    let (matter, _) = front_matter(&text).ok_or(INVALID)?;
    let document = YamlDocument::read(matter).or(Err(INVALID))?;
    let Some(NodeValue::Mapping(pairs)) = document.root().map(DocumentNode::value) else {
        return Err(INVALID);
    };
    let field = |wanted: &str| {
        pairs
            .iter()
            .find_map(|(key, value)| match (key.value(), value.value()) {
                (NodeValue::Scalar { text: key, .. }, NodeValue::Scalar { text, shape })
                    if key == wanted && shape == Shape::Text =>
                {
                    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
                }
                _ => None,
            })
    };
    Ok(Skill {
        name: field("name").ok_or("name missing")?,
        description: field("description").ok_or("description missing")?,
        location,
    })
}

/// Formats the skills as YAML for a prompt.
pub fn render_skills(skills: &[Skill]) -> String {
    let entries = skills.iter().map(|skill| {
        let location = skill.location.to_string_lossy();
        format!(
            "- name: {}\n  location: {}\n  description: {}\n",
            scalar(&skill.name),
            scalar(&location),
            quoted(&skill.description)
        )
    });
    entries.collect()
}
