//! A host: an anonymous network namespace with its own loopback and one device.

use crate::WanError;
use nix::sched::{CloneFlags, unshare};
use std::fmt;
use std::fs::File;
use std::io;
use std::net::Ipv4Addr;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::thread;
use tun_rs::{DeviceBuilder, SyncDevice};

/// Name of the device inside.
pub const DEVICE: &str = "wan0";

/// As on Ethernet, and as between most regions.
pub const MTU: u16 = 1_500;

/// All hosts lie in one network of this length: whatever isn't the host's own goes to the device.
const PREFIX: u8 = 16;

/// Packets that the kernel holds for us: enough that it never drops one while we are held up.
const QUEUE: u32 = 10_000;

/// A namespace, and the device through which all its packets go. Both are gone when this is dropped
/// and no process is left inside.
pub struct Host {
    /// Its name.
    pub name: String,
    /// Its address.
    pub address: Ipv4Addr,
    /// The device; reads don't block.
    pub device: SyncDevice,
    namespace: OwnedFd,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.name, self.address)
    }
}

impl Host {
    /// Makes a namespace. It has no name in any list: it lives as long as something holds it.
    pub fn new(name: &str, address: Ipv4Addr) -> Result<Self, WanError> {
        // A thread of its own, since a namespace is a thread's.
        let made = thread::scope(|scope| scope.spawn(|| furnish(address)).join());
        let (device, namespace) =
            made.unwrap_or_else(|_| Err(io::Error::other("it panicked"))).map_err(
                WanError::system(format!("making a network namespace with a device for {name}")),
            )?;
        Ok(Self { name: name.to_owned(), address, device, namespace })
    }

    /// Where other processes find the namespace while this one lives.
    #[must_use]
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.namespace.as_raw_fd())
    }
}

/// Moves this thread into a new namespace and furnishes it.
fn furnish(address: Ipv4Addr) -> io::Result<(SyncDevice, OwnedFd)> {
    unshare(CloneFlags::CLONE_NEWNET)?;
    let namespace = File::open("/proc/thread-self/ns/net")?.into();
    raise_loopback()?;
    let device = DeviceBuilder::new()
        .name(DEVICE)
        .ipv4(address, PREFIX, None)
        .mtu(MTU)
        .offload(true)
        .build_sync()?;
    // This alone the kernel grants to root only, whose namespace it ever is: an ordinary user's
    // devices keep the 500 packets that they are made with.
    match device.set_tx_queue_len(QUEUE) {
        Err(refused) if refused.kind() == io::ErrorKind::PermissionDenied => {}
        done => done?,
    }
    device.set_nonblocking(true)?;
    Ok((device, namespace))
}

#[allow(unsafe_code)] // The one request of the kernel for which there is no safe function.
fn raise_loopback() -> io::Result<()> {
    let socket = std::net::UdpSocket::bind("0.0.0.0:0")?;
    // SAFETY: all of its fields may be zero.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = from.cast_signed();
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    // SAFETY: the descriptor is a socket, and the request an `ifreq`, as SIOCSIFFLAGS wants.
    let done =
        unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS as _, &raw const request) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
