import OAuth
import Testing
import _Primitives

@Suite("RFC 9396: authorization details")
struct AuthorizationDetailsTests {
    private static let types = [
        AuthorizationDetailsType("payment", required: ["amount"], optional: ["actions", "locations", "creditor"]),
        AuthorizationDetailsType("account"),
    ]
    private static let payment = #"{"type":"payment","amount":{"value":"10.00","currency":"EUR"}}"#

    private static func read(_ text: String, limits: AuthorizationDetails.Limits = .init()) throws
        -> AuthorizationDetails
    {
        try AuthorizationDetails(text, types: self.types, limits: limits)
    }

    private static let refusal = OAuthError(.invalidAuthorizationDetails)

    @Test func readsObjectsOfKnownTypes() throws {
        let details = try Self.read(
            "[\(Self.payment), {\"type\":\"account\",\"anything\":[1,2.5,true],\"actions\":[\"read\"]}]")
        #expect(details.types == ["payment", "account"] && details.objects.count == 2)
        #expect(details.objects[0]["amount"] == .object(["value": .string("10.00"), "currency": .string("EUR")]))
        #expect(details.description == "AuthorizationDetails(payment, account)")
        #expect(!details.description.contains("10.00"))
    }

    @Test func writesOneSpelling() throws {
        let details = try Self.read(
            #" [ {"type" : "account", "z":[{"b":1,"a":2}], "\u0061":"\u00e9", "B": 1.0} ] "#)
        #expect(details.text == #"[{"B":1.0,"a":"é","type":"account","z":[{"a":2,"b":1}]}]"#)
        let other = try Self.read(#"[{"z":[{"a":2,"b":1}],"B":1.0,"a":"é","type":"account"}]"#)
        #expect(other == details && other.text == details.text)
        // An answer has the members in the order that they were asked for in.
        #expect(details.json.text == #"[{"type":"account","z":[{"b":1,"a":2}],"a":"é","B":1.0}]"#)
        #expect(try AuthorizationDetails(json: details.json, types: Self.types) == details)
        // The order of a list says something.
        #expect(try Self.read(#"[{"type":"account","z":[1,2]}]"#) != Self.read(#"[{"type":"account","z":[2,1]}]"#))
    }

    @Test(
        "refuses what is no list of objects with a type",
        arguments: [
            "", "[]", "{}", "\"x\"", "[1]", "[[]]", "[{}]", "null", "[null]", #"{"type":"account"}"#,
            #"[{"type":1}]"#, #"[{"type":["account"]}]"#, #"[{"Type":"account"}]"#, #"[{"type":"account"}]x"#,
            #"[{"type":"account","type":"account"}]"#, #"[{"type":"account","a":null}]"#, #"[{"type":"account"},7]"#,
            #"[{"type":"account"},{}]"#, #"[{"type":"account","a":[[[[[[[[[1]]]]]]]]]}]"#,
        ])
    func refusesForms(text: String) {
        #expect(throws: Self.refusal) { try Self.read(text) }
    }

    @Test(
        "refuses types that are not known, told by their bytes (section 5)",
        arguments: ["", "Account", "account ", "accounts", "a\u{301}ccount", "acc\u{43E}unt"])
    func refusesTypes(name: String) throws {
        let text = JSON.array([.object(["type": .string(name)])]).text
        #expect(throws: Self.refusal) { try Self.read(text) }
        #expect(throws: Self.refusal) { try Self.read("[\(Self.payment),\(text.dropFirst().dropLast())]") }
        #expect(throws: Self.refusal) { try AuthorizationDetails(#"[{"type":"account"}]"#, types: []) }
    }

    @Test("refuses what does not conform to its type (section 5)")
    func refusesMembers() throws {
        #expect(throws: Self.refusal) { try Self.read(#"[{"type":"payment"}]"#) }
        #expect(throws: Self.refusal) { try Self.read(#"[{"type":"payment","amount":1,"other":1}]"#) }
        #expect(throws: Self.refusal) { try Self.read(#"[{"type":"payment","amount":1,"Actions":[]}]"#) }
        #expect(try Self.read(#"[{"type":"payment","amount":1,"creditor":"x"}]"#).types == ["payment"])
    }

    @Test(
        "the members of all types have their kind (section 2.2)",
        arguments: ["locations", "actions", "datatypes", "privileges"])
    func commonLists(name: String) throws {
        #expect(
            try Self.read("[{\"type\":\"account\",\"\(name)\":[\"a\",\"b\"]}]").objects[0].strings(name) == ["a", "b"])
        for value in ["\"a\"", "[1]", "{}", "true", "[[\"a\"]]"] {
            #expect(throws: Self.refusal) { try Self.read("[{\"type\":\"account\",\"\(name)\":\(value)}]") }
        }
    }

    @Test func theIdentifierIsAText() throws {
        #expect(try Self.read(#"[{"type":"account","identifier":"x"}]"#).types == ["account"])
        #expect(throws: Self.refusal) { try Self.read(#"[{"type":"account","identifier":["x"]}]"#) }
    }

    @Test func refusesMoreThanTheLimits() throws {
        func list(_ count: Int) -> String {
            "[" + [String](repeating: #"{"type":"account"}"#, count: count).joined(separator: ",") + "]"
        }
        #expect(try Self.read(list(16)).objects.count == 16)
        #expect(throws: Self.refusal) { try Self.read(list(17)) }
        #expect(throws: Self.refusal) { try Self.read(list(2), limits: .init(bytes: 8192, count: 1)) }
        #expect(throws: Self.refusal) { try Self.read(list(2), limits: .init(bytes: 38, count: 16)) }
        #expect(try Self.read(list(2), limits: .init(bytes: 39, count: 2)).objects.count == 2)
        let long = "[{\"type\":\"account\",\"a\":\"\(String(repeating: "x", count: 8192))\"}]"
        #expect(throws: Self.refusal) { try Self.read(long) }
    }

    @Test func laterRequestsAskForNoMore() throws {
        let granted = try Self.read("[\(Self.payment),{\"type\":\"account\",\"actions\":[\"read\"]}]")
        #expect(granted.areContained(in: granted))
        #expect(try Self.read(#"[{"actions":["read"],"type":"account"}]"#).areContained(in: granted))
        for text in [
            #"[{"type":"account","actions":["read","write"]}]"#, #"[{"type":"account"}]"#,
            "[\(Self.payment),{\"type\":\"account\",\"actions\":[]}]",
            #"[{"type":"payment","amount":{"value":"10.01","currency":"EUR"}}]"#,
        ] {
            #expect(!(try Self.read(text)).areContained(in: granted))
        }
    }

    @Test("what is written reads as the same", arguments: 0..<120 as Range<UInt64>)
    func property(seed: UInt64) throws {
        var draw = Draw(seed: seed)
        func value(_ depth: Int) -> JSON {
            switch draw.below(depth > 3 ? 4 : 6) {
            case 0: .string(draw.text())
            case 1: .integer(Int64(draw.below(1_000_000)) - 500_000)
            case 2: .number(Double(draw.below(1000)) / 8)
            case 3: .bool(draw.below(2) == 0)
            case 4: .array((0..<draw.below(4)).map { _ in value(depth + 1) })
            default: .object(JSONObject((0..<draw.below(4)).map { ("m\($0)" + draw.text(), value(depth + 1)) }))
            }
        }
        let objects = (0...draw.below(3)).map { _ -> JSON in
            .object(["x" + draw.text(): value(0), "type": .string("account"), "b": value(0)])
        }
        let details = try Self.read(JSON.array(objects).text)
        let again = try Self.read(details.text)
        #expect(again == details && again.text == details.text && details.areContained(in: again))
        #expect(JSON.array(objects) == .array(details.objects.map(JSON.object)))
    }
}
