//! GraphQL documents: one operation with variables, arguments and nested selections. There are no fragments and no directives.

use serde_json::{Map, Value, json};

/// An operation of a document, with the values of its variables in place.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GraphqlOperation {
    /// `Query` or `Mutation`.
    pub(crate) root: &'static str,
    pub(crate) fields: Vec<GraphqlField>,
}

/// A selected field.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct GraphqlField {
    /// The name in the response.
    pub(crate) alias: String,
    pub(crate) name: String,
    pub(crate) arguments: Map<String, Value>,
    pub(crate) fields: Vec<Self>,
}

/// Parses a document with one operation.
pub(crate) fn parse(text: &str, variables: &Value) -> Result<GraphqlOperation, String> {
    let mut parser = Parser {
        tokens: tokens(text)?,
        at: 0,
        variables: variables.clone(),
        declared: Vec::new(),
    };
    let operation = parser.operation()?;
    match parser.peek() {
        None => Ok(operation),
        Some(token) => Err(format!("Syntax Error: Unexpected {}.", token.shown())),
    }
}

#[derive(Debug, Clone, PartialEq)]
enum GraphqlToken {
    Sign(char),
    Name(String),
    Text(String),
    Number(Value),
}

impl GraphqlToken {
    fn shown(&self) -> String {
        match self {
            Self::Sign(sign) => format!("\"{sign}\""),
            Self::Name(name) => format!("Name \"{name}\""),
            Self::Text(text) => format!("String {text:?}"),
            Self::Number(number) => format!("Number {number}"),
        }
    }
}

fn tokens(text: &str) -> Result<Vec<GraphqlToken>, String> {
    let mut acc = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            ',' | '\u{feff}' => first.len_utf8(),
            _ if first.is_whitespace() => first.len_utf8(),
            '"' => {
                let (text, length) = string(rest)?;
                acc.push(GraphqlToken::Text(text));
                length
            }
            _ if first.is_ascii_alphabetic() || first == '_' => {
                let end = rest.find(|it: char| !it.is_ascii_alphanumeric() && it != '_');
                let name = &rest[..end.unwrap_or(rest.len())];
                acc.push(GraphqlToken::Name(name.to_owned()));
                name.len()
            }
            _ if first.is_ascii_digit() || first == '-' => {
                let is_part = |it: char| it.is_ascii_digit() || "+-.eE".contains(it);
                let end = rest.find(|it| !is_part(it)).unwrap_or(rest.len());
                let number = serde_json::from_str(&rest[..end]);
                let number =
                    number.map_err(|error| format!("Syntax Error: Invalid number, {error}."))?;
                acc.push(GraphqlToken::Number(number));
                end
            }
            _ if "{}()[]:!$=".contains(first) => {
                acc.push(GraphqlToken::Sign(first));
                1
            }
            _ => return Err(format!("Syntax Error: Unexpected character: \"{first}\".")),
        };
        rest = &rest[length..];
    }
    Ok(acc)
}

/// Reads a string and returns it with its length in the document.
fn string(text: &str) -> Result<(String, usize), String> {
    let unterminated = || "Syntax Error: Unterminated string.".to_owned();
    if let Some(block) = text.strip_prefix("\"\"\"") {
        let end = block.find("\"\"\"").ok_or_else(unterminated)?;
        return Ok((block[..end].trim().to_owned(), end + 6));
    }
    let mut is_escaped = false;
    for (at, character) in text.char_indices().skip(1) {
        match character {
            '\n' => break,
            '"' if !is_escaped => {
                // The escapes of GraphQL are those of JSON.
                let decoded = serde_json::from_str(&text[..=at]);
                let decoded =
                    decoded.map_err(|error| format!("Syntax Error: Invalid string, {error}."))?;
                return Ok((decoded, at + 1));
            }
            _ => is_escaped = character == '\\' && !is_escaped,
        }
    }
    Err(unterminated())
}

struct Parser {
    tokens: Vec<GraphqlToken>,
    at: usize,
    variables: Value,
    declared: Vec<String>,
}

impl Parser {
    fn peek(&self) -> Option<&GraphqlToken> {
        self.tokens.get(self.at)
    }

    /// Returns whether the next token is this sign, and if so consumes it.
    fn has(&mut self, sign: char) -> bool {
        let found = self.peek() == Some(&GraphqlToken::Sign(sign));
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: char) -> Result<(), String> {
        if self.has(sign) {
            return Ok(());
        }
        let found = self.peek().map_or("<EOF>".to_owned(), GraphqlToken::shown);
        Err(format!("Syntax Error: Expected \"{sign}\", found {found}."))
    }

    fn name(&mut self) -> Result<String, String> {
        match self.tokens.get(self.at) {
            Some(GraphqlToken::Name(name)) => {
                self.at += 1;
                Ok(name.clone())
            }
            other => {
                let found = other.map_or("<EOF>".to_owned(), GraphqlToken::shown);
                Err(format!("Syntax Error: Expected Name, found {found}."))
            }
        }
    }

    fn operation(&mut self) -> Result<GraphqlOperation, String> {
        let mut root = "Query";
        if let Some(GraphqlToken::Name(_)) = self.peek() {
            root = match self.name()?.as_str() {
                "query" => "Query",
                "mutation" => "Mutation",
                other => return Err(format!("Syntax Error: Unexpected Name \"{other}\".")),
            };
            if let Some(GraphqlToken::Name(_)) = self.peek() {
                self.name()?;
            }
            if self.has('(') {
                self.declarations()?;
            }
        }
        let fields = self.fields()?;
        Ok(GraphqlOperation { root, fields })
    }

    /// Reads `$id: String!, $first: Int = 50)` and checks that required variables have values.
    fn declarations(&mut self) -> Result<(), String> {
        while !self.has(')') {
            self.expect('$')?;
            let name = self.name()?;
            self.expect(':')?;
            let type_name = self.type_name()?;
            if self.has('=') {
                let value = self.value()?;
                if self.variables[&name].is_null() {
                    self.variables[&name] = value;
                }
            }
            if type_name.ends_with('!') && self.variables[&name].is_null() {
                return Err(format!(
                    "Variable \"${name}\" of required type \"{type_name}\" was not provided."
                ));
            }
            self.declared.push(name);
        }
        Ok(())
    }

    fn type_name(&mut self) -> Result<String, String> {
        let mut acc = if self.has('[') {
            let inner = self.type_name()?;
            self.expect(']')?;
            format!("[{inner}]")
        } else {
            self.name()?
        };
        if self.has('!') {
            acc.push('!');
        }
        Ok(acc)
    }

    fn fields(&mut self) -> Result<Vec<GraphqlField>, String> {
        self.expect('{')?;
        let mut acc = Vec::new();
        while !self.has('}') {
            let mut field = GraphqlField {
                alias: self.name()?,
                ..GraphqlField::default()
            };
            field.name = if self.has(':') {
                self.name()?
            } else {
                field.alias.clone()
            };
            if self.has('(') {
                while !self.has(')') {
                    let name = self.name()?;
                    self.expect(':')?;
                    field.arguments.insert(name, self.value()?);
                }
            }
            if self.peek() == Some(&GraphqlToken::Sign('{')) {
                field.fields = self.fields()?;
            }
            acc.push(field);
        }
        Ok(acc)
    }

    fn value(&mut self) -> Result<Value, String> {
        if self.has('$') {
            let name = self.name()?;
            if !self.declared.contains(&name) {
                return Err(format!("Variable \"${name}\" is not defined."));
            }
            return Ok(self.variables[&name].clone());
        }
        if self.has('[') {
            let mut acc = Vec::new();
            while !self.has(']') {
                acc.push(self.value()?);
            }
            return Ok(Value::Array(acc));
        }
        if self.has('{') {
            let mut acc = Map::new();
            while !self.has('}') {
                let name = self.name()?;
                self.expect(':')?;
                acc.insert(name, self.value()?);
            }
            return Ok(Value::Object(acc));
        }
        let token = self.peek().cloned();
        self.at += 1;
        match token {
            Some(GraphqlToken::Text(text)) => Ok(json!(text)),
            Some(GraphqlToken::Number(number)) => Ok(number),
            Some(GraphqlToken::Name(name)) => Ok(match name.as_str() {
                "true" => json!(true),
                "false" => json!(false),
                "null" => Value::Null,
                _ => json!(name),
            }),
            other => {
                let found = other.map_or("<EOF>".to_owned(), |token| token.shown());
                Err(format!("Syntax Error: Unexpected {found}."))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_come_from_variables_and_from_the_document() {
        let text = r#"
            # The names are those of the client.
            query Find($id: String!, $first: Int = 2) {
                one: issue(id: $id) { id, state { name } }
                issues(first: $first, filter: {number: {in: [1, -2.5]}, a: {eq: "q\"\u00e9", b: null, c: DESC}}) { nodes { id } }
            }"#;
        let operation = parse(text, &json!({"id": "ENG-1"})).unwrap();
        assert_eq!(operation.root, "Query");
        let [one, issues] = &operation.fields[..] else {
            panic!("two fields: {operation:?}");
        };
        assert_eq!((one.alias.as_str(), one.name.as_str()), ("one", "issue"));
        assert_eq!(Value::Object(one.arguments.clone()), json!({"id": "ENG-1"}));
        assert_eq!(one.fields[1].fields[0].name, "name");
        let filter =
            json!({"number": {"in": [1, -2.5]}, "a": {"eq": "q\"é", "b": null, "c": "DESC"}});
        assert_eq!(
            Value::Object(issues.arguments.clone()),
            json!({"first": 2, "filter": filter})
        );
    }

    #[test]
    fn what_is_no_document_is_an_error() {
        let rows = [
            ("", "Syntax Error: Expected \"{\", found <EOF>."),
            ("{ a", "Syntax Error: Expected Name, found <EOF>."),
            ("{ a } b", "Syntax Error: Unexpected Name \"b\"."),
            (
                "subscription { a }",
                "Syntax Error: Unexpected Name \"subscription\".",
            ),
            ("{ ...F }", "Syntax Error: Unexpected character: \".\"."),
            ("{ a(b: \"c) }", "Syntax Error: Unterminated string."),
            ("{ a(b: $c) }", "Variable \"$c\" is not defined."),
            (
                "query($c: ID!) { a(b: $c) }",
                "Variable \"$c\" of required type \"ID!\" was not provided.",
            ),
        ];
        for (text, expected) in rows {
            assert_eq!(parse(text, &json!({})), Err(expected.to_owned()), "{text}");
        }
    }
}
