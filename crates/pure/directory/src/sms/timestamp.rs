//! Times as short messages write them (TS 23.040 sections 9.2.3.11 and 9.2.3.12).

use super::SmsError;
use guestright_units::UnixSeconds;

/// When a message centre got a message: local time, and how far that is from UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamp {
    /// Two digits; those from 90 on are of the last century.
    pub year: u8,
    /// 1 to 12.
    pub month: u8,
    /// 1 to 31.
    pub day: u8,
    /// 0 to 23.
    pub hour: u8,
    /// 0 to 59.
    pub minute: u8,
    /// 0 to 59.
    pub second: u8,
    /// Local time minus UTC, in quarters of an hour: −79 to 79.
    pub quarters: i8,
}

impl Timestamp {
    /// Reads seven bytes of two digits each, the lower half first.
    ///
    /// # Errors
    /// [`SmsError::Field`].
    pub fn parse(bytes: [u8; 7]) -> Result<Self, SmsError> {
        let refused = SmsError::Field("time stamp");
        let digits = |byte: u8, mask: u8| {
            let (low, high) = (byte & 0x0f & mask, byte >> 4);
            (low < 10 && high < 10).then_some(low * 10 + high)
        };
        let [year, month, day, hour, minute, second] =
            [0, 1, 2, 3, 4, 5].map(|index| digits(bytes[index], 0x0f).unwrap_or(u8::MAX));
        // Bit 3 of the last byte is the sign, which leaves three bits for the tens.
        let quarters = digits(bytes[6], 0x07).and_then(|quarters| i8::try_from(quarters).ok());
        let quarters = quarters.ok_or(refused.clone())? * if bytes[6] & 8 == 0 { 1 } else { -1 };
        let fits = year < 100 && (1..=12).contains(&month) && (1..=31).contains(&day);
        if !fits || hour > 23 || minute > 59 || second > 59 {
            return Err(refused);
        }
        Ok(Self { year, month, day, hour, minute, second, quarters })
    }

    /// The seven bytes.
    pub fn emit(self) -> [u8; 7] {
        let swap = |value: u8| (value % 10) << 4 | (value / 10);
        let Self { year, month, day, hour, minute, second, quarters } = self;
        let sign = if quarters < 0 { 8 } else { 0 };
        let zone = swap(quarters.unsigned_abs()) | sign;
        [swap(year), swap(month), swap(day), swap(hour), swap(minute), swap(second), zone]
    }

    /// The point in time. A day that its month does not have counts on into the next month.
    pub fn unix_seconds(self) -> UnixSeconds {
        let year = i64::from(self.year) + if self.year < 90 { 2000 } else { 1900 };
        // Days of the civil calendar, with years that begin in March so that the leap day is the last.
        let march_year = if self.month > 2 { year } else { year - 1 };
        let march_month = (i64::from(self.month) + 9) % 12;
        let day_of_year = (153 * march_month + 2) / 5 + i64::from(self.day) - 1;
        let leap_days = march_year / 4 - march_year / 100 + march_year / 400;
        let days = march_year * 365 + leap_days + day_of_year - 719_468;
        let of_day = i64::from(self.hour) * 3_600 + i64::from(self.minute) * 60 + i64::from(self.second);
        let seconds = days * 86_400 + of_day - i64::from(self.quarters) * 900;
        UnixSeconds(u64::try_from(seconds).unwrap_or(0))
    }
}

/// The longest relative validity period (one byte) that is not longer than so many seconds; at least five minutes.
pub fn relative_validity(seconds: u64) -> u8 {
    let shorter = (0..=u8::MAX).take_while(|&value| validity_seconds(value) <= seconds);
    shorter.last().unwrap_or(0)
}

/// The seconds that a relative validity period stands for (TS 23.040 section 9.2.3.12.1).
pub fn validity_seconds(value: u8) -> u64 {
    let value = u64::from(value);
    match value {
        0..=143 => (value + 1) * 300,
        144..=167 => 43_200 + (value - 143) * 1_800,
        168..=196 => (value - 166) * 86_400,
        _ => (value - 192) * 7 * 86_400,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_the_published_example() {
        // The time stamp of a PDU that most introductions to PDU mode print: 29 March 1999, 15:16:59, GMT+2.
        let bytes = [0x99, 0x30, 0x92, 0x51, 0x61, 0x95, 0x80];
        let stamp = Timestamp::parse(bytes).unwrap();
        let want = Timestamp { year: 99, month: 3, day: 29, hour: 15, minute: 16, second: 59, quarters: 8 };
        assert_eq!((stamp, stamp.emit()), (want, bytes));
        assert_eq!(stamp.unix_seconds(), UnixSeconds(922_713_419)); // date -u -d '1999-03-29 13:16:59' +%s
        let leap = Timestamp { year: 28, month: 2, day: 29, hour: 0, minute: 0, second: 0, quarters: -20 };
        assert_eq!(leap.unix_seconds(), UnixSeconds(1_835_413_200)); // 2028-02-29 05:00 UTC
        assert_eq!(leap.emit()[6], 0x0a, "minus two, zero");
    }

    #[test]
    fn refuses_what_no_clock_shows() {
        let good = [0x99, 0x30, 0x92, 0x51, 0x61, 0x95, 0x80];
        for (index, byte) in
            [(0, 0xa0), (1, 0x31), (1, 0x00), (2, 0x23), (3, 0x42), (4, 0x06), (5, 0x0f), (6, 0xb0)]
        {
            let mut bytes = good;
            bytes[index] = byte;
            assert_eq!(Timestamp::parse(bytes), Err(SmsError::Field("time stamp")), "{index}: {byte:02x}");
        }
    }

    #[test]
    fn validity_is_never_longer_than_was_said() {
        for (seconds, want) in [(0, 0), (300, 0), (600, 1), (86_400, 167), (172_800, 168), (u64::MAX, 255)] {
            assert_eq!(relative_validity(seconds), want, "{seconds} s");
        }
        assert_eq!(validity_seconds(167), 86_400);
        assert_eq!(validity_seconds(255), 63 * 7 * 86_400);
    }

    proptest! {
        #[test]
        fn parse_inverts_emit(bytes: [u8; 7]) {
            if let Ok(stamp) = Timestamp::parse(bytes) {
                // Minus zero is zero.
                let zero = stamp.quarters == 0 && bytes[6] & 8 != 0;
                prop_assert!(stamp.emit() == bytes || zero);
            }
        }
    }
}
