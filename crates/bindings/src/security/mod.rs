//! Who we are to a cluster, and how we know that it is the one that is meant: user, password, TLS.
//!
//! A specification holds *references* to secrets, never secrets: the name of an environment
//! variable, the path of a file. They are followed when a binding opens, and again by each of its
//! threads. What is found is a [`Secret`], which can be neither printed nor serialised.
//!
//! | part | for |
//! |---|---|
//! | [`Security`] | what a target says, and its checks before anything starts |
//! | [`secret`] | a password, and where it is |
//! | [`tls`] | files, and the one configuration that every binding's TLS is made of |
//! | [`explain`] | what is wrong with a connection, in one line and the same for every database |
//!
//! There is no switch that turns verification off: a benchmark that sends a password to whoever
//! answers isn't worth it. A private authority is named by `ca_file`, a certificate for another
//! name by `server_name`.

pub mod explain;
pub mod secret;
pub mod tls;

use crate::BindingError;
use serde::{Deserialize, Serialize};
use std::os::unix::fs::PermissionsExt as _;

pub use secret::{Login, Secret, SecretSource};
pub use tls::{IdentityFile, Tls, host_of};

/// What a target says of users and certificates.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Security {
    /// The user to be. Redis: left out, the default user.
    #[serde(default)]
    pub user: Option<String>,
    /// Where the password is.
    #[serde(default)]
    pub password: Option<SecretSource>,
    /// MongoDB: the database that knows the user; by default `admin`.
    #[serde(default)]
    pub auth_source: Option<String>,
    /// Whether, and how, to speak TLS.
    #[serde(default)]
    pub tls: Option<Tls>,
}

impl Security {
    /// Refuses secrets that aren't there, and files that aren't PEM. What a database's client can't
    /// do is refused by its [`Binding::check_security`](crate::Binding::check_security).
    pub fn check(&self) -> Result<(), BindingError> {
        if let Some(password) = &self.password {
            password.read()?;
        }
        if let Some(tls) = &self.tls {
            tls.config(&[])?;
        }
        Ok(())
    }

    /// Refuses a user without a password, and a password without a user.
    pub(crate) fn require_both_or_neither(&self, database: &str) -> Result<(), BindingError> {
        if self.user.is_some() == self.password.is_some() {
            return Ok(());
        }
        Err(BindingError::target(
            format!("{database} wants a user and a password, or neither"),
            "name both, or leave both out",
        ))
    }

    /// Refuses the database that knows the user, where users are the cluster's.
    pub(crate) fn refuse_auth_source(&self) -> Result<(), BindingError> {
        if self.auth_source.is_none() {
            return Ok(());
        }
        Err(BindingError::target(
            "auth_source is for a user of MongoDB's",
            "leave it out, or name the user",
        ))
    }

    /// What a person should know of it, but that stops nothing.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let Some(SecretSource::File(path)) = &self.password else { return Vec::new() };
        let others = path.metadata().is_ok_and(|found| found.permissions().mode() & 0o004 != 0);
        let path = path.display();
        others
            .then(|| format!("the password file {path} can be read by every user of this machine"))
            .into_iter()
            .collect()
    }

    /// User and password, where there are any.
    pub fn login(&self) -> Result<Option<Login>, BindingError> {
        let Some(source) = &self.password else { return Ok(None) };
        Ok(Some(Login { user: self.user.clone(), password: source.read()? }))
    }
}
