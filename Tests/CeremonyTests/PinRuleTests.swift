import Ceremony
import Testing

@Suite("Operations parity 96: the rules for PINs, as a table")
struct PinRuleTests {
    @Test(
        "each rule refuses what it names, and nothing beside it",
        arguments: [
            (.differentDigits(atLeast: 3), ["112211", "555555", ""], ["112213", "012"]),
            (.differentDigits(atLeast: 11), ["0123456789", "01234567890"], []),
            (.repeats(atMost: 2), ["155524", "555124", "124555", "000"], ["155255", "112233", ""]),
            (
                .runs(atMost: 3), ["123487", "871234", "843210", "789024", "510987"],
                ["123789", "321654", "135790", "1"]
            ),
            (.runs(atMost: 1), ["134", "431", "905", "509"], ["135", "950", "8", ""]),
            (
                .pattern, ["111111", "121212", "123123", "12312", "12341234"],
                ["121213", "824193", "113311", "1", ""]
            ),
            (.row, ["123456", "987654", "890123", "210987", "5"], ["123457", "124567", "111111", "123454"]),
            (
                .date, ["311299", "123199", "991231", "24121990", "12241990", "19901224"],
                ["321399", "000000", "24121876", "2412199", "99129900"]
            ),
            (.blockList(["246810", "1470"]), ["246810", "1470"], ["246811", "14700", "147", ""]),
            (.blockList([]), [], ["246810", ""]),
        ] as [(PinRule, refused: [String], accepted: [String])])
    func table(rule: PinRule, refused: [String], accepted: [String]) {
        for pin in refused { #expect(rule.refuses(pin.utf8), "\(rule) accepts \(pin)") }
        for pin in accepted { #expect(!rule.refuses(pin.utf8), "\(rule) refuses \(pin)") }
    }

    @Test("the first rule of a list that refuses a PIN is the reason")
    func order() {
        let rules: [PinRule] = PinRule.simple + [.differentDigits(atLeast: 4), .blockList(["824193"])]
        for (pin, rule) in [
            ("111111", .pattern), ("123456", .row), ("311299", .date), ("822488", .differentDigits(atLeast: 4)),
            ("824193", .blockList(["824193"])), ("824194", nil),
        ] as [(String, PinRule?)] {
            #expect(rules.first(refusing: pin.utf8) == rule, "\(pin)")
        }
        #expect([PinRule]().first(refusing: "111111".utf8) == nil)
    }
}
