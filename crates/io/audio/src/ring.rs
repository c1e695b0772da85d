//! Samples from one thread to another without a lock: one side writes, one side reads, neither waits.

use std::sync::Arc;
use std::sync::atomic::{AtomicI16, AtomicUsize, Ordering};

#[derive(Debug)]
struct Ring {
    /// A power of two of them.
    slots: Box<[AtomicI16]>,
    /// How many samples were written and read, ever. They wrap; their difference does not.
    written: AtomicUsize,
    read: AtomicUsize,
}

/// The writing end.
#[derive(Debug)]
pub(crate) struct Writer(Arc<Ring>);

/// The reading end.
#[derive(Debug)]
pub(crate) struct Reader(Arc<Ring>);

/// A ring with room for at least `samples`.
pub(crate) fn ring(samples: usize) -> (Writer, Reader) {
    let slots = (0..samples.max(2).next_power_of_two()).map(|_| AtomicI16::new(0)).collect();
    let ring = Arc::new(Ring { slots, written: AtomicUsize::new(0), read: AtomicUsize::new(0) });
    (Writer(Arc::clone(&ring)), Reader(ring))
}

impl Ring {
    fn filled(&self) -> usize {
        self.written.load(Ordering::Acquire).wrapping_sub(self.read.load(Ordering::Acquire))
    }

    fn slot(&self, at: usize) -> &AtomicI16 {
        &self.slots[at & (self.slots.len() - 1)]
    }
}

impl Writer {
    /// Writes what there is room for, and says how much that was.
    pub(crate) fn write(&mut self, samples: impl Iterator<Item = i16>) -> usize {
        let written = self.0.written.load(Ordering::Relaxed);
        let room = self.0.slots.len() - self.0.filled();
        let mut count = 0;
        for sample in samples.take(room) {
            // Only we write here, and the reader looks only after the counter below says so.
            self.0.slot(written.wrapping_add(count)).store(sample, Ordering::Relaxed);
            count += 1;
        }
        self.0.written.store(written.wrapping_add(count), Ordering::Release);
        count
    }

    pub(crate) fn filled(&self) -> usize {
        self.0.filled()
    }
}

impl Reader {
    /// Reads at most `count` samples, and says how many there were.
    pub(crate) fn read(&mut self, count: usize, mut consume: impl FnMut(i16)) -> usize {
        let read = self.0.read.load(Ordering::Relaxed);
        let count = count.min(self.0.filled());
        for at in 0..count {
            consume(self.0.slot(read.wrapping_add(at)).load(Ordering::Relaxed));
        }
        self.0.read.store(read.wrapping_add(count), Ordering::Release);
        count
    }

    /// Throws samples away, at most all.
    pub(crate) fn skip(&mut self, count: usize) -> usize {
        self.read(count, |_| ())
    }

    pub(crate) fn filled(&self) -> usize {
        self.0.filled()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_in_order_and_no_more_than_fits() {
        let (mut writer, mut reader) = ring(5);
        assert_eq!(writer.write(0..20), 8);
        let mut got = Vec::new();
        assert_eq!(reader.read(3, |sample| got.push(sample)), 3);
        assert_eq!(writer.write(8..20), 3);
        assert_eq!(reader.filled(), 8);
        assert_eq!(reader.skip(2), 2);
        assert_eq!(reader.read(100, |sample| got.push(sample)), 6);
        assert_eq!(got, [0, 1, 2, 5, 6, 7, 8, 9, 10]);
        assert_eq!((reader.read(1, |_| ()), writer.filled()), (0, 0));
    }

    #[test]
    fn two_threads_lose_and_change_nothing() {
        const ALL: usize = 200_000;
        let (mut writer, mut reader) = ring(256);
        let value = |at: usize| i16::from_le_bytes([at.to_le_bytes()[0], at.to_le_bytes()[1]]);
        let sender = std::thread::spawn(move || {
            let mut at = 0;
            while at < ALL {
                let sent = writer.write((at..ALL.min(at + 61)).map(value));
                at += sent;
                if sent == 0 {
                    std::thread::yield_now();
                }
            }
        });
        let mut at = 0;
        while at < ALL {
            let got = reader.read(77, |sample| {
                assert_eq!(sample, value(at));
                at += 1;
            });
            if got == 0 {
                std::thread::yield_now();
            }
        }
        sender.join().unwrap();
    }
}
