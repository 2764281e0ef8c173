//! Percent-encoding of paths, queries and forms.

use std::fmt::Write as _;

/// Decodes `%41` and leaves everything else; what is not UTF-8 is replaced.
pub(crate) fn decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut acc = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let hex = (byte == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(decoded) => {
                acc.push(decoded);
                at += 3;
            }
            None => {
                acc.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&acc).into_owned()
}

/// Encodes one segment of a path or one value of a query.
pub(crate) fn encode(text: &str) -> String {
    let mut acc = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            acc.push(char::from(byte));
        } else {
            write!(acc, "%{byte:02X}").expect("writing to a string cannot fail");
        }
    }
    acc
}

/// Reads `a=1&b=two+words`, of a query or of a form.
pub(crate) fn pairs(text: &str) -> Vec<(String, String)> {
    let of_form = |text: &str| decode(&text.replace('+', " "));
    text.split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (of_form(name), of_form(value))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded_to_the_same() {
        for text in ["", "a b", "100 %", "é/ü?&=+#", "%zz%4", "daemon/docs%2Fx"] {
            assert_eq!(decode(&encode(text)), text);
        }
        assert_eq!(decode("%zz%4"), "%zz%4");
    }

    #[test]
    fn a_query_is_read_into_pairs() {
        let pairs = pairs("state=all&head=o%3Ab&&q=two+words&flag");
        let expected = [
            ("state", "all"),
            ("head", "o:b"),
            ("q", "two words"),
            ("flag", ""),
        ];
        assert_eq!(
            pairs,
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
    }
}
