//! A password, and the place where it is.

use crate::BindingError;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::path::PathBuf;

/// A user's name and password.
#[derive(Debug, Clone)]
pub struct Login {
    /// `None`: the server's default user.
    pub user: Option<String>,
    /// The password.
    pub password: Secret,
}

/// Where a secret is: what specifications and runs hold in its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum SecretSource {
    /// In the environment variable of this name.
    Env(String),
    /// In this file, without the line break that may end it.
    File(PathBuf),
}

impl<'de> Deserialize<'de> for SecretSource {
    /// By hand, since a derived one quotes what it doesn't expect: perhaps a password.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = serde_json::Value::deserialize(deserializer)?;
        let only = given.as_object().filter(|fields| fields.len() == 1);
        let only = only.and_then(|fields| fields.iter().next());
        match only.and_then(|(name, value)| Some((name.as_str(), value.as_str()?))) {
            Some(("env", name)) => Ok(Self::Env(name.to_owned())),
            Some(("file", path)) => Ok(Self::File(path.into())),
            _ => Err(D::Error::custom(
                "a password is {\"env\": NAME} or {\"file\": PATH}, and never written out",
            )),
        }
    }
}

impl SecretSource {
    /// Follows the reference.
    pub fn read(&self) -> Result<Secret, BindingError> {
        let (found, place) = match self {
            Self::Env(name) => {
                // The system's error of a value that isn't text would quote it.
                let found = std::env::var_os(name).map(std::ffi::OsString::into_string);
                let problem = match found {
                    Some(Ok(_)) => "",
                    Some(Err(_)) => "isn't text",
                    None => "isn't set",
                };
                let found = found.and_then(Result::ok).ok_or_else(|| {
                    BindingError::target(
                        format!(
                            "the environment's {name}, where the password should be, {problem}"
                        ),
                        format!("export {name}, or name the variable that holds the password"),
                    )
                })?;
                (found, format!("the environment's {name}"))
            }
            Self::File(path) => {
                let place = format!("the password file {}", path.display());
                let found = std::fs::read_to_string(path).map_err(|cause| {
                    // Of bytes that aren't text the system's error says that, and no more.
                    BindingError::target(
                        format!("{place} can't be read: {cause}"),
                        "name a text file that holds the password alone",
                    )
                })?;
                (found, place)
            }
        };
        let found = found.strip_suffix('\n').unwrap_or(&found);
        let found = found.strip_suffix('\r').unwrap_or(found);
        if found.is_empty() {
            return Err(BindingError::target(
                format!("{place} is empty"),
                "put the password there, or leave it out",
            ));
        }
        Ok(Secret(found.to_owned()))
    }
}

/// Something that nobody may see. It prints as `***`, and can't be serialised.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The text itself, for the driver that must have it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}
