use crate::clock::difference;
use crate::{Audio, PAYLOAD_MAX};
use guestright_voice::session::Frame;

/// Gives packets their timestamps: even ones within a talkspurt, by the clock at its start.
#[derive(Debug, Default)]
pub(super) struct Voice {
    /// Where the last packet's sound ended, in ticks.
    end: Option<u32>,
    is_talking: bool,
    /// Frames that were left out, because the sound card is faster than the clock.
    pub(super) left_out: u64,
}

impl Voice {
    /// The packet for a frame of `ticks` that is complete when the clock shows `clock`; nothing in a pause.
    pub(super) fn packet(&mut self, frame: &Frame<'_>, clock: u32, ticks: u32) -> Option<Audio> {
        if !frame.is_speech || frame.payload.is_empty() || frame.payload.len() > PAYLOAD_MAX {
            self.is_talking = false;
            return None;
        }
        let ahead = self.end.map_or(i64::MIN, |end| difference(end, clock));
        let ticks_signed = i64::from(ticks);
        if ahead > ticks_signed {
            self.left_out += 1;
            return None;
        }
        // The sound stood still for longer than a packet: as if nobody had spoken.
        let goes_on = self.is_talking && ahead >= -ticks_signed;
        let timestamp = match self.end {
            Some(end) if goes_on || ahead > 0 => end,
            Some(_) | None => clock,
        };
        let silence = self.end.map_or(u16::MAX, |end| {
            let passed = difference(timestamp, end).max(0).unsigned_abs();
            u16::try_from(passed / u64::from(ticks.max(1))).unwrap_or(u16::MAX)
        });
        self.is_talking = true;
        self.end = Some(timestamp.wrapping_add(ticks));
        let silence = if goes_on { 0 } else { silence };
        Some(Audio { timestamp, starts_talkspurt: !goes_on, silence, payload: frame.payload.to_vec() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use guestright_units::Micros;

    fn frame(is_speech: bool) -> Frame<'static> {
        Frame { payload: &[1, 2], duration: Micros::from_millis(20), is_speech, noise_level: 60 }
    }

    /// Timestamp, mark and silence of what was made at each of these clocks.
    fn made(clocks: &[(u32, bool)]) -> Vec<Option<(u32, bool, u16)>> {
        let mut voice = Voice::default();
        let one = |audio: Audio| (audio.timestamp, audio.starts_talkspurt, audio.silence);
        clocks.iter().map(|(clock, speech)| voice.packet(&frame(*speech), *clock, 20).map(one)).collect()
    }

    #[test]
    fn timestamps_are_even_within_a_talkspurt() {
        let got = made(&[(100, true), (125, true), (138, true), (160, false), (180, false), (203, true)]);
        let want = [
            Some((100, true, u16::MAX)),
            Some((120, false, 0)),
            Some((140, false, 0)),
            None,
            None,
            Some((203, true, 2)),
        ];
        assert_eq!(got, want);
    }

    #[test]
    fn timestamps_pass_the_wrap() {
        let start = u32::MAX - 30;
        let got = made(&[(start, true), (start.wrapping_add(20), true), (start.wrapping_add(40), true)]);
        let stamps: Vec<u32> = got.into_iter().flatten().map(|(timestamp, _, _)| timestamp).collect();
        assert_eq!(stamps, [start, start + 20, 9]);
    }

    #[test]
    fn a_card_that_stood_still_makes_a_silence_and_one_that_runs_ahead_leaves_a_frame_out() {
        assert_eq!(made(&[(100, true), (165, true)])[1], Some((165, true, 2)));
        let ahead = made(&[(100, true), (100, true), (100, true), (100, true)]);
        assert_eq!(ahead[1..], [Some((120, false, 0)), None, None]);
    }

    #[test]
    fn what_no_datagram_holds_is_not_made() {
        let long = [0; PAYLOAD_MAX + 1];
        let frame = Frame { payload: &long, ..frame(true) };
        assert_eq!(Voice::default().packet(&frame, 1, 20), None);
    }
}
