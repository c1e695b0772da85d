use super::{
    APPLICATION, BLOCKS_MAX, CLOCK_ERROR_NAME, DESCRIPTION, EXTENDED, GOODBYE, Part, RECEIVER_REPORT,
    ReportBlock, SENDER_REPORT, VOIP_METRICS, VoipMetrics,
};

/// Appends a compound packet. [`Part::Other`] is left out, lists are cut at [`BLOCKS_MAX`], names at 255 bytes.
pub fn emit(parts: &[Part], out: &mut Vec<u8>) {
    for part in parts {
        let start = out.len();
        out.extend_from_slice(&[0; 4]);
        let Some((count, packet_type)) = body(part, out) else {
            out.truncate(start);
            continue;
        };
        let words =
            u16::try_from((out.len() - start) / 4 - 1).expect("31 blocks or names are far below 2^16 words");
        out[start] = 2 << 6 | u8::try_from(count).expect("a list has at most 31 members");
        out[start + 1] = packet_type;
        out[start + 2..start + 4].copy_from_slice(&words.to_be_bytes());
    }
}

/// Writes what follows the first word; gives the count and the packet type.
fn body(part: &Part, out: &mut Vec<u8>) -> Option<(usize, u8)> {
    let word = |out: &mut Vec<u8>, value: u32| out.extend_from_slice(&value.to_be_bytes());
    match part {
        Part::SenderReport { ssrc, info, blocks } => {
            word(out, *ssrc);
            out.extend_from_slice(&info.ntp.0.to_be_bytes());
            [info.timestamp, info.packets, info.octets].into_iter().for_each(|value| word(out, value));
            Some((report_blocks(blocks, out), SENDER_REPORT))
        }
        Part::ReceiverReport { ssrc, blocks } => {
            word(out, *ssrc);
            Some((report_blocks(blocks, out), RECEIVER_REPORT))
        }
        Part::Description(chunks) => {
            let chunks = &chunks[..chunks.len().min(BLOCKS_MAX)];
            for (ssrc, name) in chunks {
                word(out, *ssrc);
                if let Some(name) = name {
                    let name = &name[..name.floor_char_boundary(255)];
                    out.extend_from_slice(&[1, u8::try_from(name.len()).expect("cut at 255 bytes")]);
                    out.extend_from_slice(name.as_bytes());
                }
                // One zero byte ends the items, the others fill the word.
                out.push(0);
                pad(out, name.as_ref().map_or(1, |name| 3 + name.floor_char_boundary(255)));
            }
            Some((chunks.len(), DESCRIPTION))
        }
        Part::Goodbye(sources) => {
            let sources = &sources[..sources.len().min(BLOCKS_MAX)];
            sources.iter().for_each(|ssrc| word(out, *ssrc));
            Some((sources.len(), GOODBYE))
        }
        Part::Extended { ssrc, voip } => {
            word(out, *ssrc);
            voip.iter().take(BLOCKS_MAX).for_each(|metrics| voip_metrics(metrics, out));
            Some((0, EXTENDED))
        }
        Part::ClockError { ssrc, error } => {
            word(out, *ssrc);
            out.extend_from_slice(&CLOCK_ERROR_NAME);
            word(out, u32::try_from(error.0).unwrap_or(u32::MAX));
            Some((0, APPLICATION))
        }
        Part::Other { .. } => None,
    }
}

/// Fills up to a whole word after so many bytes.
fn pad(out: &mut Vec<u8>, length: usize) {
    out.resize(out.len() + length.next_multiple_of(4) - length, 0);
}

fn report_blocks(blocks: &[ReportBlock], out: &mut Vec<u8>) -> usize {
    let blocks = &blocks[..blocks.len().min(BLOCKS_MAX)];
    for block in blocks {
        out.extend_from_slice(&block.ssrc.to_be_bytes());
        let lost = block.cumulative_lost.clamp(-(1 << 23), (1 << 23) - 1).to_be_bytes();
        out.extend_from_slice(&[block.fraction_lost, lost[1], lost[2], lost[3]]);
        for value in [block.highest_sequence, block.jitter, block.last_report, block.delay_since] {
            out.extend_from_slice(&value.to_be_bytes());
        }
    }
    blocks.len()
}

fn voip_metrics(metrics: &VoipMetrics, out: &mut Vec<u8>) {
    out.extend_from_slice(&[VOIP_METRICS, 0, 0, 8]);
    out.extend_from_slice(&metrics.ssrc.to_be_bytes());
    out.extend_from_slice(&[
        metrics.loss_rate,
        metrics.discard_rate,
        metrics.burst_density,
        metrics.gap_density,
    ]);
    for value in [metrics.burst_ms, metrics.gap_ms, metrics.round_trip_ms, metrics.end_system_ms] {
        out.extend_from_slice(&value.to_be_bytes());
    }
    // Signal, noise and echo are not measured (127); a gap is 16 packets, the recommended value.
    out.extend_from_slice(&[127, 127, 127, 16]);
    // An R factor of another kind of network is not computed (127); the configuration says "adaptive" (RFC 3611, 4.7.6).
    out.extend_from_slice(&[metrics.r_factor, 127, metrics.mos_lq, metrics.mos_cq, 0b0011_0000, 0]);
    for value in [metrics.buffer_nominal_ms, metrics.buffer_maximum_ms, metrics.buffer_absolute_ms] {
        out.extend_from_slice(&value.to_be_bytes());
    }
}
