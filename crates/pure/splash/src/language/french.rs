use super::Texts;

pub(super) const TEXTS: Texts = Texts {
    title: "Wi-Fi pour invités",
    shares: ["", " partage ce Wi-Fi avec les gens de passage."],
    no_company: "Aucune entreprise derrière cela. Des foyers ouvrent leur Wi-Fi aux membres des autres et en tiennent le compte \
                 avec un logiciel libre, Guestright.",

    stranger_heading: "Vous n’êtes pas encore en ligne",
    stranger: "Ce Wi-Fi sert les membres d’autres foyers qui partagent le leur. Votre appareil n’a pas montré qu’il en fait \
               partie. Si c’est le cas, activez votre profil ou votre tunnel WireGuard.",
    welcome_heading: "Vous seriez servi ici",
    welcome: "Activez votre profil ou votre tunnel WireGuard et vous serez en ligne.",
    served_heading: "Vous êtes en ligne",
    refused_heading: "Vous n’êtes pas servi pour le moment",
    home_away_heading: "Votre foyer ne répond pas",
    home_away: "Ce Wi-Fi a demandé à votre foyer si vous en êtes membre et n’a pas reçu de réponse. Le routeur chez vous est-il \
                allumé et connecté ?",
    undecided_heading: "Personne ne peut décider pour le moment",
    undecided: "La partie de ce foyer qui décide qui est servi ne répond pas. Réessayez dans quelques minutes.",
    closed_heading: "Fermé aux invités",
    closed: "Ce foyer a suspendu le partage pour l’instant.",

    class_lowest: "Quand la ligne est chargée, les autres passent d’abord.",
    class_low: "Quand la ligne est chargée, vous en recevez une petite part.",
    class_middle: "Quand la ligne est chargée, vous en recevez une part moyenne.",
    class_high: "Quand la ligne est chargée, vous en recevez une grande part.",
    class_own: "Vous passez en premier : vous êtes membre de ce foyer.",
    volume_left: ["Reste pour l’instant : ", ""],

    why: "Pourquoi ?",
    why_own: "Vous êtes membre de ce foyer.",
    why_owed: "Votre foyer a servi des gens de ce foyer, qui lui doit quelque chose en retour.",
    why_chain: "Votre foyer a servi d’autres gens, et une chaîne de dettes mène d’ici jusqu’à lui.",
    why_sponsored: "Ce foyer a mis quelque chose de côté pour le vôtre.",
    why_allowance: "C’est une part de ce que ce foyer offre chaque jour à ceux à qui il ne doit rien.",
    why_everybody: "Ce foyer sert tout le monde pour le moment.",
    not_allowance: "Ce foyer ne doit rien au vôtre, et ce qu’il offre est épuisé pour l’instant. Une partie revient chaque heure.",
    not_unpaid: "Ce Wi-Fi a transporté quelque chose pour vous, et votre côté n’a pas signé de reçu.",
    not_busy: "Il n’y a plus de place pour un invité. Réessayez bientôt.",
    not_certificate: "Le certificat par lequel votre foyer répond de vous a expiré. Votre foyer peut le renouveler.",
    not_revoked: "Votre foyer ne répond plus de cet appareil.",
    not_other: "Voici la réponse reçue :",
    chain: "Les dettes qui comptent, d’ici jusqu’à votre foyer :",
    no_chain: "Aucune chaîne de dettes ne mène d’ici à votre foyer.",
    debt: ["", " doit à ", " ", "."],
    no_debts: "Votre foyer gagne ce service en servant d’autres gens avec son propre Wi-Fi.",

    trial: "Vous pouvez essayer sans être membre. Une fois le volume épuisé, l’essai se termine de lui-même.",
    trial_button: ["Essayer ", ""],
    trial_heading: "Vous êtes en ligne, à l’essai",
    trial_running: "Ensuite, il faut être membre.",
    minutes_left: ["Minutes restantes : ", ""],
    trial_used_up: "Vous avez épuisé l’essai.",
    again: "Vérifier de nouveau",

    member_heading: "Comment devenir membre",
    member_steps: [
        "Votre foyer partage son propre Wi-Fi avec le logiciel libre Guestright. Il n’y a rien à payer et pas de compte.",
        "Il y crée un profil pour votre téléphone.",
        "Avec ce profil, votre téléphone est servi ici et chez tous les autres foyers qui participent.",
    ],
    member_page: ["Pour en savoir plus, une fois en ligne : ", ""],
    terms_heading: "Conditions de ce foyer",
    contact_heading: "Contact",
    privacy_heading: "Ce que ce foyer peut voir",
    privacy: "Que votre appareil est ici, où vont ses paquets et combien il consomme. Pas le contenu des pages en https ni de \
              votre tunnel : rien de chiffré n’est ouvert. Cette page ne laisse rien sur votre appareil.",
    terms_page: "Conditions, et ce qui est conservé sur vous",
    terms_usual: [
        "Ce foyer partage son Wi-Fi de son plein gré. Il ne promet ni débit ni durée et peut à tout moment refuser ou interrompre le \
         service, à n’importe qui.",
        "Qui est servi, et comment, dépend de ce que les foyers se sont donné entre eux, et de rien d’autre que l’on sache de vous.",
    ],
    kept_heading: "Ce qui est conservé sur vous",
    kept_receipts: "Si vous êtes membre d’un autre foyer : des reçus que votre côté signe. Ils disent quand, pour quel foyer, avec \
                    quelle clé et combien a été transporté. Ce sont des comptes, que les deux foyers conservent. Ils ne disent pas \
                    ce que vous avez fait.",
    kept_no_addresses: "Il n’est pas conservé qui avait quelle adresse ici.",
    kept_addresses: "Pour pouvoir répondre si quelqu’un abuse de sa ligne, ce foyer conserve qui avait quelle adresse ici : l’adresse, \
                     l’adresse matérielle de votre appareil, votre foyer et votre clé s’ils sont connus, quand vous êtes arrivé et \
                     parti, et combien a été transporté. Pas ce que vous avez fait. Cela s’efface tout seul ; vous pouvez demander à \
                     ce foyer ce qu’il a sur vous, et de l’effacer plus tôt.",
    kept_hours: ["Heures entre votre départ et l’effacement : ", ""],
    back: "Retour",
    languages: "Langues",

    decimal_mark: ",",
    units: ["ko", "Mo", "Go", "To"],
};
