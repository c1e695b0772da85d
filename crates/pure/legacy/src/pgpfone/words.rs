//! The words for bytes, as PGPfone shows them: those of two syllables at even places, those of three at odd ones.
//!
//! It is the code that Juola and Zimmermann chose in 1995 by a search for words that sound as different as can be ("Whole-word
//! phonetic distances and the PGPfone alphabet", ICSLP 1996), and that ZRTP still uses (RFC 6189, section 5.1.6, "B256").

/// The words for these bytes.
#[must_use]
pub fn words(bytes: [u8; 4]) -> [&'static str; 4] {
    let [first, second, third, fourth] = bytes;
    [word(EVEN, first), word(ODD, second), word(EVEN, third), word(ODD, fourth)]
}

fn word(list: &'static str, byte: u8) -> &'static str {
    // Each list has 256 words; a test counts them.
    list.split(' ').nth(usize::from(byte)).unwrap_or_default()
}

const EVEN: &str = "\
    aardvark absurd accrue acme adrift adult afflict ahead aimless Algol allow alone ammo ancient apple \
    artist assume Athens atlas Aztec baboon backfield backward banjo beaming bedlamp beehive beeswax \
    befriend Belfast berserk billiard bison blackjack blockade blowtorch bluebird bombast bookshelf \
    brackish breadline breakup brickyard briefcase Burbank button buzzard cement chairlift chatter \
    checkup chisel choking chopper Christmas clamshell classic classroom cleanup clockwork cobra \
    commence concert cowbell crackdown cranky crowfoot crucial crumpled crusade cubic dashboard deadbolt \
    deckhand dogsled dragnet drainage dreadful drifter dropper drumbeat drunken Dupont dwelling eating \
    edict egghead eightball endorse endow enlist erase escape exceed eyeglass eyetooth facial fallout \
    flagpole flatfoot flytrap fracture framework freedom frighten gazelle Geiger glitter glucose goggles \
    goldfish gremlin guidance hamlet highchair hockey indoors indulge inverse involve island jawbone \
    keyboard kickoff kiwi klaxon locale lockup merit minnow miser Mohawk mural music necklace Neptune \
    newborn nightbird Oakland obtuse offload optic orca payday peachy pheasant physique playhouse Pluto \
    preclude prefer preshrunk printer prowler pupil puppy python quadrant quiver quota ragtime ratchet \
    rebirth reform regain reindeer rematch repay retouch revenge reward rhythm ribcage ringbolt robust \
    rocker ruffled sailboat sawdust scallion scenic scorecard Scotland seabird select sentence shadow \
    shamrock showgirl skullcap skydive slingshot slowdown snapline snapshot snowcap snowslide solo \
    southward soybean spaniel spearhead spellbind spheroid spigot spindle spyglass stagehand stagnate \
    stairway standard stapler steamship sterling stockman stopwatch stormy sugar surmount suspense \
    sweatband swelter tactics talon tapeworm tempest tiger tissue tonic topmost tracker transit trauma \
    treadmill Trojan trouble tumor tunnel tycoon uncut unearth unwind uproot upset upshot vapor village \
    virus Vulcan waffle wallet watchword wayside willow woodlark Zulu";

const ODD: &str = "\
    adroitness adviser aftermath aggregate alkali almighty amulet amusement antenna applicant Apollo \
    armistice article asteroid Atlantic atmosphere autopsy Babylon backwater barbecue belowground \
    bifocals bodyguard bookseller borderline bottomless Bradbury bravado Brazilian breakaway Burlington \
    businessman butterfat Camelot candidate cannonball Capricorn caravan caretaker celebrate cellulose \
    certify chambermaid Cherokee Chicago clergyman coherence combustion commando company component \
    concurrent confidence conformist congregate consensus consulting corporate corrosion councilman \
    crossover crucifix cumbersome customer Dakota decadence December decimal designing detector \
    detergent determine dictator dinosaur direction disable disbelief disruptive distortion document \
    embezzle enchanting enrollment enterprise equation equipment escapade Eskimo everyday examine \
    existence exodus fascinate filament finicky forever fortitude frequency gadgetry Galveston getaway \
    glossary gossamer graduate gravity guitarist hamburger Hamilton handiwork hazardous headwaters \
    hemisphere hesitate hideaway holiness hurricane hydraulic impartial impetus inception indigo inertia \
    infancy inferno informant insincere insurgent integrate intention inventive Istanbul Jamaica Jupiter \
    leprosy letterhead liberty maritime matchmaker maverick Medusa megaton microscope microwave \
    midsummer millionaire miracle misnomer molasses molecule Montana monument mosquito narrative nebula \
    newsletter Norwegian October Ohio onlooker opulent Orlando outfielder Pacific pandemic Pandora \
    paperweight paragon paragraph paramount passenger pedigree Pegasus penetrate perceptive performance \
    pharmacy phonetic photograph pioneer pocketful politeness positive potato processor provincial \
    proximate puberty publisher pyramid quantity racketeer rebellion recipe recover repellent replica \
    reproduce resistor responsive retraction retrieval retrospect revenue revival revolver sandalwood \
    sardonic Saturday savagery scavenger sensation sociable souvenir specialist speculate stethoscope \
    stupendous supportive surrender suspicious sympathy tambourine telephone therapist tobacco tolerance \
    tomorrow torpedo tradition travesty trombonist truncated typewriter ultimate undaunted underfoot \
    unicorn unify universe unravel upcoming vacancy vagabond vertigo Virginia visitor vocalist voyager \
    warranty Waterloo whimsical Wichita Wilmington Wyoming yesteryear Yucatan";

#[cfg(test)]
mod tests {
    use super::*;
    use sha1::{Digest as _, Sha1};

    #[test]
    fn each_byte_has_two_words_in_the_order_of_the_alphabet() {
        for list in [EVEN, ODD] {
            let all: Vec<String> = list.split(' ').map(str::to_lowercase).collect();
            assert_eq!(all.len(), 256);
            // "applicant" stands before "Apollo" in every copy.
            let out_of_order = all.windows(2).filter(|pair| pair[0] >= pair[1]).count();
            assert_eq!(out_of_order, usize::from(list == ODD));
        }
        assert!(EVEN.split(' ').all(|even| even.len() <= 9 && ODD.split(' ').all(|odd| odd != even)));
        assert!(ODD.split(' ').all(|word| word.len() <= 11));
    }

    /// Against a slip of an editor: a word that is changed would not be read alike at both ends.
    #[test]
    fn the_list_is_whole() {
        let sum: String =
            Sha1::digest(format!("{EVEN} {ODD}")).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(sum, "8200f99c5d5f6351983af796a6f23c273f52ca0c");
    }

    /// The example that everybody gives: E582 94F2 E9A2 2748 6E8B 061B 31CC 528F D7FA 3F19.
    #[test]
    fn the_known_example() {
        assert_eq!(words([0xe5, 0x82, 0x94, 0xf2]), ["topmost", "Istanbul", "Pluto", "vagabond"]);
        assert_eq!(words([0xe9, 0xa2, 0x27, 0x48]), ["treadmill", "Pacific", "brackish", "dictator"]);
        assert_eq!(words([0x6e, 0x8b, 0x06, 0x1b]), ["goldfish", "Medusa", "afflict", "bravado"]);
        assert_eq!(words([0x31, 0xcc, 0x52, 0x8f]), ["chatter", "revolver", "Dupont", "midsummer"]);
        assert_eq!(words([0xd7, 0xfa, 0x3f, 0x19]), ["stopwatch", "whimsical", "cowbell", "bottomless"]);
        assert_eq!(words([0, 0, 255, 255]), ["aardvark", "adroitness", "Zulu", "Yucatan"]);
    }
}
