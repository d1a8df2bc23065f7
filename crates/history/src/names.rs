//! What a reader of a finding calls the values and registers of a history.

use crate::Version;
use crate::log::SEQUENCE_BITS;
use std::collections::HashMap;

/// Names of versions and keys; what has none is called by its number.
#[derive(Debug, Clone, Default)]
pub struct Names {
    are_logged: bool,
    versions: HashMap<Version, String>,
    keys: HashMap<u64, String>,
}

impl Names {
    /// Names of the versions of a run's [`log`](crate::log): who wrote them, as which of its operations.
    #[must_use]
    pub fn of_log() -> Self {
        Self { are_logged: true, ..Self::default() }
    }

    /// Calls a version so.
    pub fn name_version(&mut self, version: Version, name: String) {
        self.versions.insert(version, name);
    }

    /// Calls a register so.
    pub fn name_key(&mut self, key: u64, name: String) {
        self.keys.insert(key, name);
    }

    /// What a version is called.
    #[must_use]
    pub fn version(&self, version: Version) -> String {
        match (self.versions.get(&version), version) {
            (Some(name), _) => name.clone(),
            (None, Version::ABSENT) => "nothing".into(),
            (None, Version::LOADED) => "what was loaded".into(),
            (None, Version(number)) if self.are_logged && version.is_initial() => {
                format!("what an earlier run left ({number:x})")
            }
            (None, Version(number)) if self.are_logged => {
                let (user, sequence) =
                    (number >> SEQUENCE_BITS, number & ((1 << SEQUENCE_BITS) - 1));
                format!("{user}.{sequence}")
            }
            (None, Version(number)) => number.to_string(),
        }
    }

    /// What a register is called: `register 5`.
    #[must_use]
    pub fn key(&self, key: u64) -> String {
        self.keys.get(&key).cloned().unwrap_or_else(|| format!("register {key}"))
    }
}
