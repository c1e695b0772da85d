//! Bit-planes as run lengths: the codes of `w1`.
//!
//! Four bits say which plane is the highest; 0 is silence. Then for each plane, from that one on: how many coefficients,
//! of those that are still 0 and from low to high bands, stay 0 until one does not, and its sign; and so on, up to a run
//! that reaches the end. Then a bit for each coefficient that was not 0 before.
//!
//! A run is a Golomb-Rice code whose parameter follows the runs so far. One that would take [`ESCAPE`] ones or more is
//! those ones and then either a zero, if nothing follows in this plane, or a one and the run as it is.

use crate::FRAME_SAMPLES;
use crate::bits::{Reader, Writer};
use crate::planes::{Known, Planes, below};

/// So many ones say that no usual code follows.
const ESCAPE: usize = 6;

/// The parameter of the code: the logarithm of the runs, in 256ths, slowly forgotten.
#[derive(Debug)]
struct Parameter(u32);

impl Parameter {
    fn new() -> Self {
        Self(3 * 256)
    }

    fn get(&self) -> u32 {
        (self.0 + 128) / 256
    }

    /// A fifth of the way to this run: 51 of 256.
    fn follow(&mut self, run: usize) {
        self.0 = (self.0 * 205 + log2(run) * 51) / 256;
    }
}

/// The logarithm of `run + 1/2` to the base 2, at least 0, in 256ths; straight lines between powers of two.
fn log2(run: usize) -> u32 {
    let twice = u32::try_from(2 * run + 1).unwrap_or(u32::MAX);
    let whole = twice.ilog2();
    let part = ((u64::from(twice) << 8 >> whole) & 0xff).try_into().unwrap_or(0);
    (whole * 256 + part).saturating_sub(256)
}

/// What writer and reader know alike, plane by plane.
struct Progress {
    parameter: Parameter,
    /// Coefficients of which nothing was said yet but that they are small.
    zeros: Vec<usize>,
    found: Vec<usize>,
}

impl Progress {
    fn new() -> Self {
        Self {
            parameter: Parameter::new(),
            zeros: (0..FRAME_SAMPLES).collect(),
            found: Vec::with_capacity(FRAME_SAMPLES),
        }
    }
}

/// Writes until `writer` is full or everything is said.
pub(crate) fn write(planes: &Planes, writer: &mut Writer<'_>) {
    let top = planes.top();
    writer.bits(usize::try_from(top).unwrap_or(0), 4);
    let Progress { mut parameter, mut zeros, mut found } = Progress::new();
    for plane in below(top) {
        let refined = found.len();
        let mut from = 0;
        for (index, at) in zeros.iter().enumerate() {
            if planes.magnitude[*at] >> plane > 0 {
                write_run(index - from, zeros.len() - from, &mut parameter, writer);
                writer.bit(planes.is_negative[*at]);
                found.push(*at);
                from = index + 1;
            }
        }
        if from < zeros.len() {
            write_run(zeros.len() - from, zeros.len() - from, &mut parameter, writer);
        }
        zeros.retain(|at| planes.magnitude[*at] >> plane == 0);
        for at in &found[..refined] {
            writer.bit(planes.magnitude[*at] >> plane & 1 == 1);
        }
        if writer.is_full() {
            return;
        }
    }
}

/// Reads until there is nothing more.
pub(crate) fn read(reader: &mut Reader<'_>) -> Known {
    let mut known = Known::new();
    // Nothing more to come is no failure.
    let _ = read_planes(reader, &mut known);
    known
}

fn read_planes(reader: &mut Reader<'_>, known: &mut Known) -> Option<()> {
    let top = u32::try_from(reader.bits(4)?).ok()?;
    let Progress { mut parameter, mut zeros, mut found } = Progress::new();
    for plane in below(top) {
        let refined = found.len();
        let mut from = 0;
        while from < zeros.len() {
            from += read_run(zeros.len() - from, &mut parameter, reader)?;
            let Some(at) = zeros.get(from) else { break };
            known.found(*at, reader.bit()?, plane);
            found.push(*at);
            from += 1;
        }
        zeros.retain(|at| known.magnitude[*at] == 0);
        for at in &found[..refined] {
            known.refine(*at, reader.bit()?, plane);
        }
    }
    Some(())
}

/// A run of at most `most`, which stands for the end of the plane.
fn write_run(run: usize, most: usize, parameter: &mut Parameter, writer: &mut Writer<'_>) {
    let low_bits = parameter.get();
    let ones = run >> low_bits;
    (0..ones.min(ESCAPE)).for_each(|_| writer.bit(true));
    if ones < ESCAPE {
        writer.bit(false);
        writer.bits(run, low_bits);
    } else {
        writer.bit(run < most);
        if run < most {
            writer.bits(run, width(most));
        }
    }
    if run < most {
        parameter.follow(run);
    }
}

fn read_run(most: usize, parameter: &mut Parameter, reader: &mut Reader<'_>) -> Option<usize> {
    let low_bits = parameter.get();
    let mut ones = 0;
    while ones < ESCAPE && reader.bit()? {
        ones += 1;
    }
    let run = if ones < ESCAPE {
        ones << low_bits | reader.bits(low_bits)?
    } else if reader.bit()? {
        reader.bits(width(most))?
    } else {
        most
    };
    // No encoder writes more; a forged packet may have it, and ends the plane.
    let run = run.min(most);
    if run < most {
        parameter.follow(run);
    }
    Some(run)
}

/// Bits that a run below `most` may take.
fn width(most: usize) -> u32 {
    usize::BITS - most.saturating_sub(1).leading_zeros()
}
