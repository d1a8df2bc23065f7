//! The emulated network between nodes.
//!
//! Every host has a network namespace of its own with one TUN device; this crate reads what a host
//! sends, asks the rules what becomes of it, and writes it to the host that it is for. The rules know
//! no clock and no packets: they are told a time and a size. The kernel's own `netem` isn't used:
//! many machines don't have it.
//!
//! | module | holds |
//! |---|---|
//! | [`link`](mod@link) | what a link does to packets: [`Link`], checked when it is made |
//! | [`lane`] | one link's state, from one host to one other: which packets, and when |
//! | [`mesh`] | all lanes, what is cut, what was counted |
//! | [`flight`] | packets under way, in the order in which they are due |
//! | [`host`] | a namespace with its device |
//! | [`packet`] | addresses and segments of what a device gives |
//! | [`driver`] | the loop: reads, decides, waits, writes |
//! | [`control`] | the specification and the commands, as JSON lines |

pub mod control;
pub mod driver;
pub mod flight;
pub mod host;
pub mod lane;
pub mod link;
pub mod mesh;
pub mod packet;

pub use control::{Control, run, serve};
pub use link::Link;

/// What can go wrong. A packet's fate is none of it.
#[derive(Debug, thiserror::Error)]
pub enum WanError {
    /// The specification or a command asks for what can't be.
    #[error("{0}")]
    Invalid(String),
    /// The kernel refuses.
    #[error("{what}: {cause}")]
    System {
        /// What was tried.
        what: String,
        /// Why not.
        cause: std::io::Error,
    },
    /// Not JSON, or of another shape.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
}

impl WanError {
    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(std::io::Error) -> Self {
        let what = what.into();
        move |cause| Self::System { what, cause }
    }
}
