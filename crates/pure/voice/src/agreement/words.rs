//! What two people read to each other.

use std::fmt;

/// Four words, one for each byte of 32 bits that both sides computed from the handshake.
///
/// If the words are equal on both ends, nobody sits in between: whoever does has one chance in 2^32 to make them equal,
/// because the callee's key was committed to before the caller's was shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words([u8; 4]);

impl Words {
    pub(super) fn new(bytes: [u8; 4]) -> Self {
        Self(bytes)
    }

    /// The words in the order in which they are read.
    #[must_use]
    pub fn words(&self) -> [&'static str; 4] {
        self.0.map(|byte| WORDS[usize::from(byte)])
    }
}

impl fmt::Display for Words {
    /// With hyphens: `harbour-walnut-piano-ticket`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words().join("-"))
    }
}

/// Common English nouns, chosen to be hard to mishear: no two begin with the same three letters, none turns into another
/// with fewer than four changed letters, and none is a number. The order is that of the alphabet, and part of the protocol.
#[rustfmt::skip]
const WORDS: [&str; 256] = [
    "absent", "acrobat", "admiral", "afternoon", "airport", "alarm", "albatross", "almond", "alphabet",
    "amber", "anchor", "antelope", "apple", "apricot", "arctic", "armchair", "arrow", "autumn",
    "avocado", "bakery", "banana", "basement", "bedroom", "beetle", "bicycle", "biscuit", "blanket",
    "blossom", "blueprint", "bonfire", "bracelet", "breakfast", "bridge", "broccoli", "buffalo",
    "butter", "cabbage", "cactus", "calendar", "canoe", "captain", "caravan", "cello", "champion",
    "cherry", "chimney", "citizen", "clarinet", "clover", "coconut", "compass", "concert", "coral",
    "cowboy", "cricket", "crystal", "cucumber", "cushion", "cyclone", "daffodil", "daylight", "dentist",
    "detective", "dinosaur", "diploma", "dolphin", "domino", "donkey", "dragon", "drummer", "duchess",
    "dynamo", "eclipse", "editor", "eggplant", "elevator", "emerald", "empire", "escape", "evening",
    "eyebrow", "fabric", "factory", "family", "feather", "february", "festival", "fiction", "fireplace",
    "flamingo", "florist", "flute", "foghorn", "fountain", "freckle", "frontier", "gazelle", "geyser",
    "giraffe", "glacier", "goblin", "gondola", "granite", "gymnast", "harbour", "headline", "hedgehog",
    "helmet", "heritage", "hippo", "holiday", "horizon", "hospital", "husky", "hydrogen", "iceberg",
    "impala", "index", "infant", "ivory", "jackal", "january", "jasmine", "jigsaw", "journey", "juggler",
    "kangaroo", "kayak", "kerosene", "ketchup", "keyboard", "kingdom", "labyrinth", "lantern", "laptop",
    "leopard", "lettuce", "lighthouse", "lilac", "lobster", "lollipop", "lullaby", "magnet", "mammoth",
    "mandolin", "marathon", "mattress", "meadow", "melody", "mercury", "midnight", "milkshake",
    "minister", "mocha", "molecule", "mosquito", "museum", "nectar", "nephew", "nightingale", "noodle",
    "november", "oasis", "oatmeal", "obelisk", "octopus", "omelette", "opera", "ostrich", "outlaw",
    "oxygen", "pancake", "parachute", "peacock", "pelican", "penguin", "perfume", "phantom", "pigeon",
    "pistachio", "platinum", "porcupine", "potato", "prairie", "pretzel", "prophet", "publisher",
    "pudding", "puzzle", "pyramid", "quota", "raincoat", "raspberry", "referee", "reindeer",
    "restaurant", "rhubarb", "rucksack", "saffron", "sandwich", "saturday", "scarecrow", "scissors",
    "scorpion", "seagull", "september", "seventy", "shepherd", "sideboard", "skeleton", "skyscraper",
    "snowflake", "soldier", "sombrero", "spaghetti", "spinach", "squirrel", "stadium", "submarine",
    "sugar", "sunflower", "swallow", "symphony", "tapestry", "telescope", "terrace", "thimble",
    "thunder", "tobacco", "tornado", "toucan", "treasure", "triangle", "trombone", "tuesday", "tulip",
    "turquoise", "typewriter", "ukulele", "umbrella", "unicorn", "valley", "vanilla", "veranda",
    "village", "vinegar", "vulture", "warehouse", "waterfall", "wednesday", "weekend", "whisper",
    "wizard", "yesterday", "yogurt", "zeppelin",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// How many letters must be changed, added or left out.
    fn distance(a: &str, b: &str) -> usize {
        let mut row: Vec<usize> = (0..=b.len()).collect();
        for (i, x) in a.bytes().enumerate() {
            let mut diagonal = row[0];
            row[0] = i + 1;
            for (j, y) in b.bytes().enumerate() {
                let best = (row[j] + 1).min(row[j + 1] + 1).min(diagonal + usize::from(x != y));
                diagonal = row[j + 1];
                row[j + 1] = best;
            }
        }
        row[b.len()]
    }

    #[test]
    fn no_two_words_are_alike() {
        for (index, one) in WORDS.iter().enumerate() {
            assert!(one.bytes().all(|letter| letter.is_ascii_lowercase()) && one.len() >= 5, "{one}");
            for other in &WORDS[index + 1..] {
                assert!(one < other, "{one} {other}");
                assert!(one[..3] != other[..3] && distance(one, other) >= 4, "{one} {other}");
            }
        }
    }

    #[test]
    fn reads_from_the_first_byte_to_the_last() {
        assert_eq!(
            Words::new([0, 1, 254, 255]).to_string(),
            [WORDS[0], WORDS[1], WORDS[254], WORDS[255]].join("-")
        );
    }
}
