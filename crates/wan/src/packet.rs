//! What a device gives and takes: a header that tells of work left undone, and an IP packet.
//!
//! Kernels hand over a whole burst of one TCP connection as one piece, without checksums, and take
//! such pieces: that is what makes a network in userspace fast. Where a link's rules are about single
//! packets, a piece is divided into those that would have been on the wire.

use std::io;
use tun_rs::{VIRTIO_NET_HDR_LEN, VirtioNetHdr, gso_split};

/// The largest piece, with its header.
pub const PIECE_BYTES: usize = VIRTIO_NET_HDR_LEN + 65_536;

/// `VIRTIO_NET_HDR_GSO_NONE` of the kernel's `virtio_net.h`: one packet.
const ONE_PACKET: u8 = 0;

/// The wire's packets that a piece can hold: 65,536 / 536, the smallest segment in use, and
/// the odd one.
const SEGMENTS: usize = 128;
const SEGMENT_BYTES: usize = 2_048;

/// The IPv4 address that a piece is for; none for anything else than IPv4.
#[must_use]
pub fn destination(piece: &[u8]) -> Option<[u8; 4]> {
    let packet = piece.get(VIRTIO_NET_HDR_LEN..)?;
    if packet.len() < 20 || packet[0] >> 4 != 4 {
        return None;
    }
    packet[16..20].try_into().ok()
}

/// Whether a piece is one packet of the wire.
#[must_use]
pub fn is_single(piece: &[u8]) -> bool {
    piece.get(1).is_none_or(|kind| *kind == ONE_PACKET)
}

/// Its size without the header: what counts on the wire.
#[must_use]
pub fn size_bytes(piece: &[u8]) -> usize {
    piece.len().saturating_sub(VIRTIO_NET_HDR_LEN)
}

/// The packets of a piece.
#[derive(Debug)]
pub struct Segments {
    buffers: Vec<Vec<u8>>,
    sizes: Vec<usize>,
}

impl Default for Segments {
    fn default() -> Self {
        // A header of zeros says that nothing is left to be done.
        Self {
            buffers: vec![vec![0; VIRTIO_NET_HDR_LEN + SEGMENT_BYTES]; SEGMENTS],
            sizes: vec![0; SEGMENTS],
        }
    }
}

impl Segments {
    /// Divides a piece; how many there are.
    pub fn divide(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        let mut header = VirtioNetHdr::decode(piece)?;
        let packet = &mut piece[VIRTIO_NET_HDR_LEN..];
        // The kernel's own length may be that of the whole first packet.
        let transport = usize::from(header.csum_start);
        let transport_bytes = match packet.get(9) {
            Some(&17) => 8,
            _ => packet.get(transport + 12).map_or(0, |byte| u16::from(byte >> 4) * 4),
        };
        header.hdr_len = header.csum_start.saturating_add(transport_bytes);
        let (buffers, sizes) = (&mut self.buffers, &mut self.sizes);
        gso_split(packet, header, buffers, sizes, VIRTIO_NET_HDR_LEN, false)
    }

    /// One of them, as a device takes it.
    #[must_use]
    pub fn get(&self, index: usize) -> &[u8] {
        &self.buffers[index][..VIRTIO_NET_HDR_LEN + self.sizes[index]]
    }
}
