import Ceremony
import Crypto
import PersonalInformation
import Testing
import UAF
import _Primitives

@Suite("Decision 57: the document that a person agrees to, and its challenge")
struct SessionDocumentTests {
    private static let salt = SuppliedValueSalt(random: RandomSource { [UInt8](repeating: 5, count: $0) })
    private static let expiry = Timestamp(seconds: 1_800_000_000)

    private static func random(_ byte: UInt8) -> RandomSource { RandomSource { [UInt8](repeating: byte, count: $0) } }

    private static func document(
        purpose: SessionDocument.Purpose = .userLogin, server: String = "https://id.example", session: String = "s-1",
        activation: String = "a-1",
        service: SessionDocument.Service = .init(name: "Bank", origin: "https://bank.example"),
        role: SessionDocument.Role = .init(id: "r-1", name: "Customer"),
        attributes: [PersonalAttribute: SessionDocument.AttributeSource]? = nil, text: String? = "Open an account",
        expiresAt: Timestamp = Self.expiry, nonce: UInt8 = 7
    ) throws -> SessionDocument {
        try SessionDocument(
            purpose: purpose, server: server, session: session, activation: activation, service: service, role: role,
            attributes: attributes ?? [
                .email: .alias(id: "e-1", text: "Private"),
                .givenName: .supplied(SuppliedValueDigest(of: "Jo", for: .givenName, salt: Self.salt)),
            ],
            text: try text.map { try TransactionText(normalizing: $0) }, expiresAt: expiresAt,
            random: Self.random(nonce))
    }

    @Test("It has one spelling: members in their order, attributes in theirs")
    func spelling() throws {
        let digest = Base64URL.encode(
            Array(
                HMAC<SHA256>.authenticationCode(
                    for: Array("countersign supplied value/1\u{0}givenName\u{0}Jo".utf8),
                    using: SymmetricKey(data: [UInt8](repeating: 5, count: 32)))))
        let expected = """
            {"version":"1","purpose":"userLogin","server":"https://id.example","session":"s-1","activation":"a-1",\
            "service":{"name":"Bank","origin":"https://bank.example"},"role":{"id":"r-1","name":"Customer"},\
            "attributes":[{"name":"givenName","supplied":"\(digest)"},\
            {"name":"email","alias":{"id":"e-1","text":"Private"}}],"text":"Open an account","expires":1800000000,\
            "nonce":"BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc"}
            """
        let document = try Self.document()
        #expect(String(decoding: document.bytes, as: UTF8.self) == expected)
        let read = try SessionDocument(parsing: document.bytes)
        #expect(read == document && read.attributes == document.attributes && read.purpose == .userLogin)
        #expect(read.service.name == "Bank" && read.role.name == "Customer" && read.text?.text == "Open an account")
        #expect(read.session == "s-1" && read.activation == "a-1" && read.server == "https://id.example")
        #expect(read.expiresAt == Self.expiry && read.nonce == [UInt8](repeating: 7, count: 32))
    }

    @Test("The challenge is the hash of a label and the bytes, and changes with every one of them")
    func challenge() throws {
        let document = try Self.document()
        let labelled = Array("countersign session document/1".utf8) + [0] + document.bytes
        #expect(document.challenge.bytes == Array(SHA256.hash(data: labelled)))
        #expect(try Challenge(document.challenge.text) == document.challenge)
        // The label keeps it apart from every other hash of the same bytes.
        #expect(document.challenge.bytes != Array(SHA256.hash(data: document.bytes)))
        for index in document.bytes.indices {
            var changed = document.bytes
            changed[index] ^= 1
            #expect(SessionDocument.challenge(of: changed) != document.challenge)
            #expect(throws: SessionDocumentError(.wrongChallenge)) {
                try SessionDocument(received: changed, challenge: document.challenge)
            }
        }
        #expect(try SessionDocument(received: document.bytes, challenge: document.challenge) == document)
        let others = [
            try Self.document(purpose: .delete), try Self.document(session: "s-2"),
            try Self.document(activation: "a-2"),
            try Self.document(role: .init(id: "r-2", name: "Customer")), try Self.document(attributes: [:]),
            try Self.document(text: nil), try Self.document(expiresAt: Self.expiry + .seconds(1)),
            try Self.document(nonce: 8), try Self.document(server: "https://id2.example"),
            try Self.document(service: .init(name: "Bank", origin: "https://bank2.example")),
        ]
        #expect(Set(others.map(\.challenge) + [document.challenge]).count == others.count + 1)
        for other in others {
            #expect(throws: SessionDocumentError(.wrongChallenge)) {
                try SessionDocument(received: other.bytes, challenge: document.challenge)
            }
        }
    }

    @Test("Another try has a fresh nonce and the same content, which a phone can tell")
    func renewal() throws {
        let document = try Self.document()
        let later = Self.expiry + .seconds(60)
        let renewed = try document.renewed(expiresAt: later, random: Self.random(9))
        #expect(renewed.challenge != document.challenge && renewed.nonce != document.nonce)
        #expect(renewed.expiresAt == later && renewed.attributes == document.attributes)
        #expect(renewed.isRenewal(of: document) && document.isRenewal(of: renewed))
        #expect(!document.isRenewal(of: document))
        let others = [
            try Self.document(purpose: .delete, nonce: 9), try Self.document(session: "s-2", nonce: 9),
            try Self.document(server: "https://id2.example", nonce: 9), try Self.document(activation: "a-2", nonce: 9),
            try Self.document(service: .init(name: "Bank2", origin: "https://bank.example"), nonce: 9),
            try Self.document(service: .init(name: "Bank", origin: "https://bank2.example"), nonce: 9),
            try Self.document(role: .init(id: "r-1", name: "Owner"), nonce: 9),
            try Self.document(role: .init(id: "r-2", name: "Customer"), nonce: 9),
            try Self.document(attributes: [:], nonce: 9), try Self.document(text: nil, nonce: 9),
            try Self.document(text: "Open two accounts", nonce: 9),
        ]
        for other in others {
            #expect(!other.isRenewal(of: document), "\(String(decoding: other.bytes, as: UTF8.self))")
        }
        #expect(throws: SessionDocumentError(.invalidValue)) {
            try document.renewed(expiresAt: Timestamp(seconds: -1), random: Self.random(9))
        }
    }

    @Test("It confirms the answers that were given, all of them and no others")
    func confirms() throws {
        let document = try Self.document()
        let answers: [PersonalAttribute: AttributeAnswer] = [.givenName: .value("Jo"), .email: .alias(id: "e-1")]
        #expect(document.confirms(answers, salts: [.givenName: Self.salt]))
        #expect(!document.confirms(answers, salts: [:]))
        #expect(!document.confirms(answers, salts: [.givenName: SuppliedValueSalt(random: Self.random(6))]))
        let others: [[PersonalAttribute: AttributeAnswer]] = [
            [:], [.givenName: .value("Jo")], [.email: .alias(id: "e-1")],
            [.givenName: .value("Jon"), .email: .alias(id: "e-1")],
            [.givenName: .value("Jo"), .email: .alias(id: "e-2")],
            [.givenName: .alias(id: "e-1"), .email: .value("Jo")],
            [.givenName: .value("Jo"), .phoneNumber: .alias(id: "e-1")],
            [.givenName: .value("Jo"), .email: .alias(id: "e-1"), .gender: .value("female")],
        ]
        for other in others { #expect(!document.confirms(other, salts: [.givenName: Self.salt]), "\(other)") }
        // A digest of one attribute is none of another with the same value.
        let digest = SuppliedValueDigest(of: "Jo", for: .givenName, salt: Self.salt)
        #expect(!digest.isDigest(of: "Jo", for: .nickname, salt: Self.salt))
        #expect(digest.isDigest(of: "Jo", for: .givenName, salt: Self.salt))
        #expect(SuppliedValueDigest(digest.bytes) == digest && SuppliedValueDigest(digest.bytes + [0]) == nil)
    }

    @Test("A value that was typed is not in the document, and neither is its key")
    func hidden() throws {
        let document = String(decoding: try Self.document().bytes, as: UTF8.self)
        #expect(!document.contains(Self.salt.base64URL) && !document.contains("\"Jo\""))
        #expect(SuppliedValueSalt(base64URL: Self.salt.base64URL) == Self.salt)
        #expect(SuppliedValueSalt(base64URL: "AAAA") == nil && SuppliedValueSalt(base64URL: "?") == nil)
        #expect(SuppliedValueSalt(random: .system) != SuppliedValueSalt(random: .system))
        #expect(!"\(Self.salt)".contains(Self.salt.base64URL))
    }

    @Test("Names come into their normal form; what cannot be shown or is too long is refused")
    func values() throws {
        let composed = try Self.document(service: .init(name: "Cafe\u{301}", origin: "https://bank.example"))
        #expect(composed.service.name.unicodeScalars.count == 4)
        #expect(try SessionDocument(parsing: composed.bytes) == composed)
        let longest = String(repeating: "é", count: 128)
        #expect(
            try Self.document(role: .init(id: String(repeating: "r", count: 64), name: longest)).role.name == longest)
        for name in ["", " ", "a\nb", "a\rb", "a\u{202E}b", "a\u{200B}b", "a\u{0}b", "a\u{2028}b", longest + "x"] {
            for build: (String) throws -> SessionDocument in [
                { try Self.document(service: .init(name: $0, origin: "https://bank.example")) },
                { try Self.document(role: .init(id: "r", name: $0)) },
                { try Self.document(attributes: [.email: .alias(id: "1", text: $0)]) },
            ] {
                #expect(throws: SessionDocumentError(.invalidValue), "\(name)") { try build(name) }
            }
        }
        for identifier in ["", "a b", "a/b", "ä", "a\"", String(repeating: "x", count: 65)] {
            for build: (String) throws -> SessionDocument in [
                { try Self.document(session: $0) }, { try Self.document(activation: $0) },
                { try Self.document(role: .init(id: $0, name: "x")) },
                { try Self.document(attributes: [.email: .alias(id: $0, text: "x")]) },
            ] {
                #expect(throws: SessionDocumentError(.invalidValue), "\(identifier)") { try build(identifier) }
            }
        }
        for origin in ["", "https://ban k", "https://bän.k", "https://bank\n", String(repeating: "x", count: 513)] {
            #expect(throws: SessionDocumentError(.invalidValue), "\(origin)") { try Self.document(server: origin) }
            #expect(throws: SessionDocumentError(.invalidValue), "\(origin)") {
                try Self.document(service: .init(name: "x", origin: origin))
            }
        }
        for moment in [Timestamp(seconds: -1), Timestamp(seconds: 253_402_300_800)] {
            #expect(throws: SessionDocumentError(.invalidValue)) { try Self.document(expiresAt: moment) }
        }
        // Whole seconds: what stands behind them would not be in the document.
        let odd = try Self.document(expiresAt: Timestamp(milliseconds: 1_800_000_000_999))
        #expect(odd.expiresAt == Self.expiry)
    }

    @Test("The largest document that can be made is read, and there is none that is too large to be read")
    func largest() throws {
        let wide = String(repeating: "\u{1F9D1}", count: 128)
        var attributes: [PersonalAttribute: SessionDocument.AttributeSource] = [:]
        for attribute in PersonalAttribute.allCases {
            attributes[attribute] = .alias(id: String(repeating: "i", count: 64), text: wide)
        }
        let document = try Self.document(
            session: String(repeating: "s", count: 64), activation: String(repeating: "a", count: 64),
            service: .init(name: wide, origin: "https://" + String(repeating: "x", count: 504)),
            role: .init(id: String(repeating: "r", count: 64), name: wide), attributes: attributes,
            text: String(repeating: "\u{1F9D1}", count: 200))
        #expect(document.bytes.count > 8 * 1024 && document.bytes.count <= SessionDocument.maximumBytes)
        #expect(try SessionDocument(parsing: document.bytes) == document)
        let padded = document.bytes + [UInt8](repeating: 0x20, count: SessionDocument.maximumBytes)
        #expect(throws: SessionDocumentError(.malformed)) { try SessionDocument(parsing: padded) }
    }

    private static let text =
        #"{"version":"1","purpose":"userLogin","server":"https://id.example","session":"s","activation":"a","#
        + #""service":{"name":"Bank","origin":"https://bank.example"},"role":{"id":"r","name":"Customer"},"#
        + #""attributes":[{"name":"email","alias":{"id":"1","text":"Private"}}],"expires":1800000000,"#
        + #""nonce":"BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc"}"#

    @Test(
        "Another spelling, another version and anything that is not known are refused by their codes",
        arguments: [
            ("{", "{ ", SessionDocumentError.Code.notNormal), ("\"s\"", "\"\\u0073\"", .notNormal),
            ("1800000000", "1.8e9", .malformed), ("\"expires\":1800000000,", "", .malformed),
            ("\"session\":\"s\",\"activation\":\"a\"", "\"activation\":\"a\",\"session\":\"s\"", .notNormal),
            ("\"session\":\"s\"", "\"session\":\"s\",\"session\":\"s\"", .malformed),
            ("\"session\":\"s\"", "\"session\":null", .malformed), ("\"session\":\"s\"", "\"session\":1", .malformed),
            ("\"session\":\"s\"", "\"session\":\"s\",\"more\":1", .notNormal),
            ("\"name\":\"Bank\"", "\"name\":\"Bank\",\"more\":1", .notNormal),
            ("\"name\":\"Bank\"", "\"name\":\"Cafe\u{301}\"", .notNormal),
            ("\"name\":\"Bank\"", "\"name\":\"a\\nb\"", .invalidValue), ("\"1\"", "\"2\"", .unsupportedVersion),
            ("\"version\":\"1\"", "\"version\":1", .malformed), ("userLogin", "login", .invalidValue),
            ("\"email\"", "\"e-mail\"", .invalidValue), ("Bwc\"", "Bw\"", .invalidValue),
            ("Bwc\"", "Bwd\"", .invalidValue),
            ("BwcHBwcH", "BwcH", .invalidValue), ("\"attributes\":[", "\"attributes\":[1,", .malformed),
            (
                "\"attributes\":[",
                "\"attributes\":[{\"name\":\"email\",\"alias\":{\"id\":\"1\",\"text\":\"Private\"}},", .notNormal
            ),
            (
                "\"attributes\":[",
                "\"attributes\":[{\"name\":\"phoneNumber\",\"alias\":{\"id\":\"1\",\"text\":\"x\"}},", .notNormal
            ),
            ("\"attributes\":[", "\"attributes\":[{\"name\":\"gender\",\"supplied\":\"AAAA\"},", .invalidValue),
            ("\"attributes\":[", "\"attributes\":[{\"name\":\"gender\"},", .malformed),
            ("\"alias\":", "\"supplied\":\"BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc\",\"alias\":", .notNormal),
            ("\"expires\":", "\"text\":\"\",\"expires\":", .invalidValue),
            ("\"expires\":", "\"text\":\"e\u{301}\",\"expires\":", .invalidValue),
            ("\"expires\":1800000000", "\"expires\":-1", .invalidValue), ("}", "}}", .malformed),
        ])
    func refused(change: (find: String, replace: String, code: SessionDocumentError.Code)) throws {
        #expect(throws: Never.self) { try SessionDocument(parsing: Array(Self.text.utf8)) }
        var text = Self.text
        text.replaceSubrange(try #require(text.firstRange(of: change.find)), with: change.replace)
        let changed = Array(text.utf8)
        #expect(throws: SessionDocumentError(change.code)) { try SessionDocument(parsing: changed) }
    }

    @Test("Whatever byte is changed, a document is refused or reads as another one whose bytes these are")
    func everyByte() throws {
        let bytes = Array(Self.text.utf8)
        let document = try SessionDocument(parsing: bytes)
        var read = 0
        for index in bytes.indices {
            for bit in 0..<8 {
                var changed = bytes
                changed[index] ^= 1 << UInt8(bit)
                guard let other = try? SessionDocument(parsing: changed) else { continue }
                read += 1
                if other.bytes != changed || other == document { Issue.record("byte \(index)") }
            }
        }
        #expect(read > 0)
        for count in 0..<bytes.count where (try? SessionDocument(parsing: bytes.prefix(count))) != nil {
            Issue.record("\(count) bytes are a document")
        }
    }

    @Test("A thousand random documents are read as they were made, and no two have one challenge")
    func random() throws {
        var random = SystemRandomNumberGenerator()
        let names = ["Jo", "Zoe\u{308}", "山田 太郎", "\"quoted\\\"", "{}", "O’Neill", "שלום", "a/b"]
        var challenges: Set<Challenge> = []
        for _ in 0..<1000 {
            func name() -> String { names.randomElement(using: &random) ?? "" }
            func identifier() -> String { String(UInt64.random(in: 0 ... .max, using: &random), radix: 36) }
            var attributes: [PersonalAttribute: SessionDocument.AttributeSource] = [:]
            for attribute in PersonalAttribute.allCases where Bool.random(using: &random) {
                attributes[attribute] =
                    Bool.random(using: &random)
                    ? .alias(id: identifier(), text: name())
                    : .supplied(SuppliedValueDigest(of: name(), for: attribute, salt: Self.salt))
            }
            let document = try SessionDocument(
                purpose: SessionDocument.Purpose.allCases.randomElement(using: &random) ?? .delete,
                server: "https://\(identifier()).example", session: identifier(), activation: identifier(),
                service: .init(name: name(), origin: "https://x.example"), role: .init(id: identifier(), name: name()),
                attributes: attributes,
                text: Bool.random(using: &random) ? try TransactionText(normalizing: name()) : nil,
                expiresAt: Timestamp(seconds: Int64.random(in: 0..<4_000_000_000, using: &random)), random: .system)
            let read = try SessionDocument(received: document.bytes, challenge: document.challenge)
            #expect(read == document && read.attributes == document.attributes && read.role == document.role)
            #expect(read.service == document.service && read.text == document.text)
            challenges.insert(document.challenge)
        }
        #expect(challenges.count == 1000)
    }
}
