use super::Texts;

pub(super) const TEXTS: Texts = Texts {
    title: "WLAN für Gäste",
    shares: ["", " teilt dieses WLAN mit allen, die vorbeikommen."],
    no_company: "Dahinter steht keine Firma. Haushalte lassen gegenseitig ihre Leute ins WLAN und führen darüber Buch, mit dem \
                 freien Programm Guestright.",

    stranger_heading: "Sie sind noch nicht online",
    stranger: "Hier surfen Mitglieder anderer Haushalte, die ihr WLAN ebenfalls teilen. Ihr Gerät hat noch nicht gezeigt, dass es \
               dazugehört. Wenn doch, schalten Sie Ihr Profil oder Ihren WireGuard-Tunnel ein.",
    welcome_heading: "Sie kämen hier ins Netz",
    welcome: "Schalten Sie Ihr Profil oder Ihren WireGuard-Tunnel ein, dann sind Sie online.",
    served_heading: "Sie sind online",
    refused_heading: "Sie kommen hier gerade nicht ins Netz",
    home_away_heading: "Ihr Zuhause antwortet nicht",
    home_away: "Dieses WLAN hat Ihren Haushalt gefragt, ob Sie dazugehören, und keine Antwort bekommen. Ist der Router bei Ihnen \
                zu Hause eingeschaltet und verbunden?",
    undecided_heading: "Im Moment kann niemand entscheiden",
    undecided: "Der Teil dieses Haushalts, der entscheidet, wer ins Netz kommt, antwortet nicht. Bitte versuchen Sie es in einigen \
                Minuten noch einmal.",
    closed_heading: "Für Gäste geschlossen",
    closed: "Dieser Haushalt teilt sein WLAN zurzeit nicht.",

    class_lowest: "Wenn die Leitung voll ist, haben andere Vorrang.",
    class_low: "Wenn die Leitung voll ist, bekommen Sie einen kleinen Anteil.",
    class_middle: "Wenn die Leitung voll ist, bekommen Sie einen mittleren Anteil.",
    class_high: "Wenn die Leitung voll ist, bekommen Sie einen großen Anteil.",
    class_own: "Sie haben Vorrang: Sie gehören zu diesem Haushalt.",
    volume_left: ["Jetzt noch übrig: ", ""],

    why: "Warum?",
    why_own: "Sie gehören zu diesem Haushalt.",
    why_owed: "Ihr Haushalt hat Leute dieses Haushalts ins Netz gelassen und hat dafür etwas gut.",
    why_chain: "Ihr Haushalt hat andere ins Netz gelassen, und eine Kette von Schulden führt von hier zu ihm.",
    why_sponsored: "Dieser Haushalt hat für Ihren etwas zurückgelegt.",
    why_allowance: "Es ist ein Teil dessen, was dieser Haushalt jeden Tag an alle verschenkt, denen er nichts schuldet.",
    why_everybody: "Dieser Haushalt lässt zurzeit alle ins Netz.",
    not_allowance: "Dieser Haushalt schuldet Ihrem nichts, und was er verschenkt, ist vorerst aufgebraucht. Jede Stunde kommt \
                    etwas davon nach.",
    not_unpaid: "Dieses WLAN hat für Sie etwas übertragen, und Ihre Seite hat den Empfang nicht unterschrieben.",
    not_busy: "Für einen weiteren Gast ist kein Platz. Bitte versuchen Sie es bald noch einmal.",
    not_certificate: "Das Zertifikat, mit dem Ihr Haushalt für Sie bürgt, ist abgelaufen. Ihr Haushalt kann es verlängern.",
    not_revoked: "Ihr Haushalt bürgt nicht mehr für dieses Gerät.",
    not_other: "Das ist die Antwort, die kam:",
    chain: "Die Schulden, die zählen, von hier bis zu Ihrem Haushalt:",
    no_chain: "Keine Kette von Schulden führt von hier zu Ihrem Haushalt.",
    debt: ["", " schuldet ", " ", "."],
    no_debts: "Ihr Haushalt verdient sich das, indem er in seinem eigenen WLAN andere ins Netz lässt.",

    trial: "Sie dürfen es ausprobieren, ohne Mitglied zu sein. Ist alles verbraucht, endet es von selbst.",
    trial_button: ["", " ausprobieren"],
    trial_heading: "Sie sind online, zum Ausprobieren",
    trial_running: "Danach müssen Sie Mitglied sein.",
    minutes_left: ["Minuten übrig: ", ""],
    trial_used_up: "Was Sie ausprobieren konnten, ist aufgebraucht.",
    again: "Noch einmal nachsehen",

    member_heading: "So werden Sie Mitglied",
    member_steps: [
        "Ihr Haushalt teilt sein eigenes WLAN mit dem freien Programm Guestright. Das kostet nichts und braucht kein Konto.",
        "Dort macht er ein Profil für Ihr Telefon.",
        "Mit diesem Profil kommt Ihr Telefon hier ins Netz, und bei allen anderen Haushalten, die mitmachen.",
    ],
    member_page: ["Mehr dazu, sobald Sie online sind: ", ""],
    terms_heading: "Regeln dieses Haushalts",
    contact_heading: "Kontakt",
    privacy_heading: "Was dieser Haushalt sehen kann",
    privacy: "Dass Ihr Gerät hier ist, wohin seine Pakete gehen und wie viel es verbraucht. Nicht, was in Seiten mit https oder in \
              Ihrem Tunnel steht: Verschlüsseltes wird nicht geöffnet. Diese Seite lässt nichts auf Ihrem Gerät zurück.",
    terms_page: "Regeln, und was über Sie gespeichert wird",
    terms_usual: [
        "Dieser Haushalt teilt sein WLAN freiwillig. Er verspricht weder Tempo noch Dauer und darf jederzeit jeden ablehnen oder \
         die Verbindung beenden.",
        "Wer ins Netz kommt und wie gut, richtet sich danach, was Haushalte einander gegeben haben, und nach nichts anderem, was \
         über Sie bekannt ist.",
    ],
    kept_heading: "Was über Sie gespeichert wird",
    kept_receipts: "Wenn Sie zu einem anderen Haushalt gehören: Quittungen, die Ihre Seite unterschreibt. Darin steht, wann, für \
                    welchen Haushalt, mit welchem Schlüssel und wie viel übertragen wurde. Sie sind die Buchführung, und beide \
                    Haushalte bewahren sie auf. Was Sie getan haben, steht nicht darin.",
    kept_no_addresses: "Wer hier welche Adresse hatte, wird nicht gespeichert.",
    kept_addresses: "Damit er Auskunft geben kann, wenn jemand seinen Anschluss missbraucht, speichert dieser Haushalt, wer hier welche \
                     Adresse hatte: die Adresse, die Hardware-Adresse Ihres Geräts, Ihren Haushalt und Schlüssel, soweit bekannt, wann \
                     Sie kamen und gingen, und wie viel übertragen wurde. Nicht, was Sie getan haben. Es wird von selbst gelöscht; Sie \
                     dürfen diesen Haushalt fragen, was er über Sie hat, und ihn bitten, es früher zu löschen.",
    kept_hours: ["Stunden, bis es gelöscht wird, nachdem Sie gegangen sind: ", ""],
    back: "Zurück",
    languages: "Sprachen",

    decimal_mark: ",",
    units: ["kB", "MB", "GB", "TB"],
};
