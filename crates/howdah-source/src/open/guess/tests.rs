//! What is guessed is right, and what cannot be told is left alone.

use proptest::prelude::*;

use super::*;

/// `(encoding, names of its language)`.
const NAMES: &[(&str, &str)] = &[
    ("WIN1252", "Müller Größe Bäcker Jürgen Schröder Weiß Köln Düsseldorf Österreich Grün"),
    ("WIN1252", "Zoé Noël Hélène François Garçon Élève Évian Châtelet Bébé Forêt"),
    ("WIN1252", "Muñoz José García Peña Martínez Núñez Ángel Íñigo Cádiz Málaga"),
    ("WIN1252", "Malmö Göteborg Åsa Örebro Växjö Jönköping Håkan Sjöberg Ängelholm"),
    ("WIN1250", "Łódź Gdańsk Kraków Świętosława Żółć Małgorzata Michał Paweł Wałęsa"),
    ("LATIN2", "Łódź Gdańsk Kraków Świętosława Żółć Małgorzata Michał Paweł Wałęsa"),
    ("WIN1250", "Dvořák Novák Černý Příbram Žižkov Šťastný Růžena Třebíč Plzeň Jiří"),
    ("LATIN2", "Dvořák Novák Černý Příbram Žižkov Šťastný Růžena Třebíč Plzeň Jiří"),
    ("WIN1254", "İstanbul Ağrı Çağlar Şahin Güneş Öztürk Yıldız Işık Diyarbakır Eskişehir"),
    ("WIN1257", "Žiūrėk Šiauliai Klaipėda Panevėžys Žemaitis Ąžuolas Čiurlionis Įmonė"),
    ("WIN1251", "Москва Иванов Пётр Сергей Новосибирск Казань Ольга Смирнова"),
    ("KOI8U", "Москва Иванов Пётр Сергей Новосибирск Казань Ольга Смирнова"),
    ("WIN866", "Москва Иванов Пётр Сергей Новосибирск Казань Ольга Смирнова"),
    ("ISO_8859_5", "Москва Иванов Пётр Сергей Новосибирск Казань Ольга Смирнова"),
    ("WIN1253", "Αθήνα Γεώργιος Θεσσαλονίκη Πάτρα Μαρία Ελένη Νίκος Ηράκλειο"),
    ("WIN1255", "ירושלים אביב חיפה דוד שרה משה יוסף רחל"),
    ("WIN1256", "القاهرة محمد أحمد فاطمة علي عمر بغداد دمشق"),
    ("WIN874", "กรุงเทพ เชียงใหม่ ภูเก็ต สมชาย สมหญิง ภาษาไทย นนทบุรี ชลบุรี"),
    ("SJIS", "東京 大阪 田中太郎 鈴木 佐藤 カタカナ ソフト 表示 能登 名古屋市"),
    ("EUC_JP", "東京 大阪 田中太郎 鈴木 佐藤 カタカナ ソフト 表示 能登 名古屋市"),
    ("GBK", "北京 上海 张伟 王芳 李娜 广州市 深圳 中文 简体字 公司 地址"),
    ("BIG5", "臺北 高雄 陳美玲 林志明 許功蓋 繁體字 公司 地址 電話"),
    ("UHC", "서울 부산 김철수 이영희 최민수 대한민국 회사 주소 전화"),
];

/// `text` in `encoding`, which has its characters.
fn encoded(text: &str, encoding: &str) -> Vec<u8> {
    let encoding = Encoding::named(encoding).unwrap();
    let high = encoding.high_half();
    let mut bytes = Vec::new();
    for c in text.chars() {
        let place = high.as_ref().and_then(|high| high.iter().position(|meaning| *meaning == Some(c)));
        match place {
            _ if c.is_ascii() => bytes.push(c as u8),
            Some(at) => bytes.push(0x80 + u8::try_from(at).unwrap()),
            None => {
                let table = encoding_rs::Encoding::for_label(match encoding.name() {
                    "SJIS" => b"shift_jis",
                    "EUC_JP" => b"euc-jp",
                    "GBK" => b"gbk",
                    "BIG5" => b"big5",
                    "UHC" => b"euc-kr",
                    other => panic!("{other} has no {c}"),
                });
                bytes.extend_from_slice(&table.unwrap().encode(&c.to_string()).0);
            }
        }
    }
    bytes
}

fn table(names: &str) -> String {
    let rows = names.split(' ').enumerate().map(|(at, name)| format!("{at},{name},{}\n", at * 7919 % 1000));
    format!("id,name,n\n{}", rows.collect::<String>())
}

#[test]
fn the_names_of_a_short_table_tell_its_encoding() {
    for (encoding, names) in NAMES {
        let text = table(names);
        let bytes = encoded(&text, encoding);
        assert_eq!(guess(&bytes, true), Guess::Is(Encoding::named(encoding).unwrap()), "{text}");
        // The same where the first part ends within a character.
        let cut =
            [&bytes[..], b"99,", &bytes[bytes.iter().position(|b| !b.is_ascii()).unwrap()..][..1]].concat();
        assert_eq!(guess(&cut, false), Guess::Is(Encoding::named(encoding).unwrap()), "{text}");
    }
}

#[test]
fn what_no_encoding_of_ours_explains_is_left_alone() {
    // German by DOS (code page 850) and by the old Macintosh, a degree sign by DOS.
    let dos: &[u8] =
        b"M\x81ller\nGr\x94\xe1e\nB\x84cker\nJ\x81rgen\nSchr\x94der\nK\x94ln\nGr\x81n\n\x99sterreich\n";
    let mac: &[u8] =
        b"M\x9fller\nGr\x9a\xa7e\nB\x8acker\nJ\x9frgen\nSchr\x9ader\nK\x9aln\nGr\x9fn\n\x85sterreich\n";
    let degrees: &[u8] = b"21\xf8,1\n5\xf8,2\n7\xf8,3\n20\xf8,4\n9\xf8,5\n11\xf8,6\n";
    // One value, which is no evidence however often it stands there; two characters that are UTF-8 as well.
    let same = b"M\xfcller\n".repeat(100);
    let sexes = encoded("女\n男\n", "GBK").repeat(100);
    for bytes in [dos, mac, degrees, &same, &sexes] {
        assert_eq!(guess(bytes, true), Guess::Utf8, "{}", bytes.escape_ascii());
    }
    // Signs alone: any encoding may have them there.
    assert_eq!(guess(&encoded("5€\n7€\n21°\n9°\n‘a’\nb…\n", "WIN1252"), true), Guess::Utf8);
}

#[test]
fn lines_of_utf8_between_others_are_not_read_as_letters() {
    for (encoding, names) in NAMES {
        let mixed = [encoded(&table(names), encoding), "7,Müller,1\n".repeat(3).into_bytes()].concat();
        assert_eq!(guess(&mixed, true), Guess::Utf8, "{encoding} {names}");
    }
}

#[test]
fn what_two_encodings_explain_shows_both() {
    let names = format!("{} 5€", NAMES[0].1);
    let Guess::Either([(one, first), (other, second)]) = guess(&encoded(&table(&names), "LATIN9"), true)
    else {
        panic!("{names}");
    };
    assert_eq!((one.name(), &*first, other.name(), &*second), ("WIN1252", "5¤", "LATIN9", "5€"));
    // Half of the lines by one, half by the other.
    let (polish, russian) = (NAMES[4].1.split(' '), NAMES[10].1.split(' '));
    let lines = polish.zip(russian).flat_map(|(polish, russian)| {
        [encoded(polish, "WIN1250"), b"\n".to_vec(), encoded(russian, "WIN1251"), b"\n".to_vec()].concat()
    });
    let lines: Vec<u8> = lines.collect();
    assert!(!matches!(guess(&lines, true), Guess::Is(_)));
}

#[test]
fn one_word_of_western_europe_is_not_hinted_to_be_of_the_east_alone() {
    for (_, names) in NAMES.iter().filter(|(encoding, _)| *encoding == "WIN1252") {
        for word in names.split(' ').filter(|word| !word.is_ascii()) {
            let likely = likely(&encoded(word, "WIN1252"));
            let is_named = likely.iter().any(|encoding| encoding.name() == "WIN1252");
            assert!(is_named || !likely[0].is_latin(), "{word}: {likely:?}");
        }
    }
    let polish = likely(&encoded("Świętosława Żółć", "WIN1250"));
    assert_eq!(polish.iter().map(Encoding::name).collect::<Vec<_>>(), ["WIN1250"]);
}

#[test]
fn utf16_without_its_mark_is_known_by_its_nuls() {
    let text = table("Müller 東京 Москва Ann Bob Eve");
    let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    assert_eq!(guess(&little, true), Guess::Is(Encoding::UTF16LE));
    assert_eq!(guess(&big, true), Guess::Is(Encoding::UTF16BE));
    assert_eq!(guess(&little[..little.len() - 1], false), Guess::Is(Encoding::UTF16LE));
    // NULs in text are a fault of the text.
    for text in [&b"1,\0\n"[..], b"a,b\n1,\0\0\0\0\0\0\0\0\0\0\0\0\n", b"a\0,b\n1,x\0\n2,yy\0\n3,z\0\n"] {
        assert_eq!(guess(text, true), Guess::Utf8, "{}", text.escape_ascii());
    }
}

proptest! {
    #[test]
    fn damage_does_not_make_letters_out_of_utf8(
        names in proptest::sample::subsequence(NAMES.to_vec(), 1..4),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let names = names.iter().map(|(_, names)| *names).collect::<Vec<_>>().join(" ");
        let mut bytes = table(&names).repeat(3).into_bytes();
        for (place, byte) in damage {
            let at = place.index(bytes.len());
            bytes[at] = byte;
        }
        prop_assert_eq!(guess(&bytes, true), Guess::Utf8);
    }
}
