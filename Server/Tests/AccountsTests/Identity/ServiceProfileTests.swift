import PersonalInformation
import Records
import Testing
import UAF
import _Primitives

@Suite("Services of personalised identities: what a profile can be (decision 64)")
struct ServiceProfileTests {
    private static func parsed(_ text: String) throws -> ServiceProfile {
        guard case .object(let object) = try JSON(parsing: Array(text.utf8)) else {
            throw ServiceProfileError(.malformed, "no object")
        }
        return try ServiceProfile(object)
    }

    private static func role(_ id: String = "user", _ factors: String = #"[["pin","device"]]"#) -> String {
        #"{"id":"\#(id)","factors":\#(factors)}"#
    }

    @Test("a document is read as it is written, and written so again")
    func whole() throws {
        let text = #"""
            {"roles":[{"id":"customer","name":"Customer","factors":[["biometric","device"],["pin","device"]],"default":true},
             {"id":"clerk","name":"Clerk","factors":[["pin","device"]]}],
             "attributes":{"email":"optional","givenName":"required"},"loginDomains":["Bank.example","*.bank.example"],
             "organisation":"o","requiresInvitation":true,"inApp":true,"push":true,"defaultRoles":false,"active":false}
            """#
        let profile = try Self.parsed(text)
        #expect(
            profile.roles.map(\.id) == ["customer", "clerk"] && profile.roles.map(\.name) == ["Customer", "Clerk"])
        #expect(profile.roles[0].factors.alternatives == [[.biometric, .device], [.pin, .device]])
        #expect(profile.roles.map(\.isDefault) == [true, false])
        #expect(profile.attributes == [.email: .optional, .givenName: .required])
        #expect(profile.requestedAttributes.map(\.attribute) == [.givenName, .email])
        #expect(profile.loginDomains.map(\.description) == ["bank.example", "*.bank.example"])
        #expect(profile.membershipOrganisation == "o" && profile.requiresInvitation && profile.allowsInApp)
        #expect(profile.allowsPush && !profile.usesDefaultRoles && !profile.isActive)
        #expect(profile.defaultRoles.isEmpty)
        #expect(try Self.parsed(JSON.object(profile.json).text) == profile)
        #expect(try ServiceProfile(kept: JSON.object(profile.json).text) == profile)
    }

    @Test("what is left out is what most services are: active, of one role that all have, and asking for nothing")
    func defaults() throws {
        let profile = try Self.parsed(#"{"roles":[\#(Self.role())]}"#)
        #expect(profile.isActive && profile.usesDefaultRoles && !profile.requiresInvitation && !profile.allowsInApp)
        #expect(
            !profile.takesNewcomers && !profile.allowsPush && profile.attributes.isEmpty
                && profile.membershipOrganisation == nil)
        #expect(profile.defaultRoles.map(\.id) == ["user"] && profile.roles[0].name == "user")
        #expect(profile.takes(host: "anywhere.example"))
        let two = try Self.parsed(#"{"roles":[\#(Self.role()),\#(Self.role("admin"))]}"#)
        #expect(two.defaultRoles.isEmpty, "of several, none is unless it says so")
    }

    @Test("a service takes newcomers where nothing stands between them and it")
    func newcomers() throws {
        let text =
            #"{"roles":[\#(Self.role())],"newcomers":true,"attributes":{"givenName":"required","email":"optional"}}"#
        let profile = try Self.parsed(text)
        #expect(profile.takesNewcomers)
        #expect(try ServiceProfile(kept: JSON.object(profile.json).text) == profile)
    }

    @Test("each attribute can be asked for, and no other", arguments: PersonalAttribute.allCases)
    func attribute(_ attribute: PersonalAttribute) throws {
        for requirement in ServiceProfile.Requirement.allCases {
            let text =
                #"{"roles":[\#(Self.role())],"attributes":{"\#(attribute.rawValue)":"\#(requirement.rawValue)"}}"#
            #expect(try Self.parsed(text).attributes == [attribute: requirement])
        }
    }

    /// Documents, what is wrong with each, and a word of what the operator is told.
    private static let wrong: [(text: String, code: ServiceProfileError.Code, word: String)] = [
        (#"{}"#, .noRole, "roles"), (#"{"roles":[]}"#, .noRole, "at least one role"),
        (#"{"roles":[\#(role()),\#(role())]}"#, .repeatedRole, "user"),
        (#"{"roles":[\#((0..<17).map { role("r\($0)") }.joined(separator: ","))]}"#, .tooMany, "16"),
        (#"{"roles":[\#(role("a b"))]}"#, .invalidRole, "letters"), (#"{"roles":[\#(role(""))]}"#, .invalidRole, "id"),
        (#"{"roles":[{"id":"a","name":"a\u202eb","factors":[["pin"]]}]}"#, .invalidRole, "name"),
        (#"{"roles":[{"id":"a"}]}"#, .invalidFactors, "factors"),
        (#"{"roles":[\#(role("a", "[]"))]}"#, .invalidFactors, "at least one alternative"),
        (#"{"roles":[\#(role("a", "[[]]"))]}"#, .invalidFactors, "at least one"),
        (#"{"roles":[\#(role("a", #"["pin"]"#))]}"#, .invalidFactors, "list of its own"),
        (#"{"roles":[\#(role("a", #"[["device"]]"#))]}"#, .invalidFactors, "without its person"),
        (#"{"roles":[\#(role("a", #"[["pin"],["device"]]"#))]}"#, .invalidFactors, "without its person"),
        (#"{"roles":[\#(role("a", #"[["pin"],["pin"]]"#))]}"#, .invalidFactors, "twice"),
        (#"{"roles":[\#(role("a", #"[["pin","pin"]]"#))]}"#, .invalidFactors, "twice"),
        (#"{"roles":[\#(role("a", #"[["otp","device"]]"#))]}"#, .invalidFactors, "no device can meet"),
        (#"{"roles":[\#(role("a", #"[["sms"]]"#))]}"#, .invalidFactors, "pin"),
        (#"{"roles":[\#(role())],"attributes":{"shoeSize":"required"}}"#, .unknownAttribute, "givenName"),
        (#"{"roles":[\#(role())],"attributes":{"email":"maybe"}}"#, .malformed, "required"),
        (#"{"roles":[\#(role())],"loginDomains":["https://a.example"]}"#, .invalidDomain, "bank.example"),
        (#"{"roles":[\#(role())],"loginDomains":["a.example","A.example"]}"#, .invalidDomain, "twice"),
        (#"{"roles":[\#(role())],"requireInvitation":true}"#, .malformed, "requiresInvitation"),
        (#"{"roles":[{"id":"a","factors":[["pin"]],"isDefault":true}]}"#, .malformed, "default"),
        (#"{"roles":[\#(role())],"newcomers":true,"requiresInvitation":true}"#, .invalidNewcomers, "invited"),
        (#"{"roles":[\#(role())],"newcomers":true,"organisation":"o"}"#, .invalidNewcomers, "organisation"),
        (#"{"roles":[\#(role())],"newcomers":true,"defaultRoles":false}"#, .invalidNewcomers, "default"),
        (#"{"roles":[\#(role()),\#(role("b"))],"newcomers":true}"#, .invalidNewcomers, "default"),
        (
            #"{"roles":[\#(role())],"newcomers":true,"attributes":{"givenName":"required","email":"required"}}"#,
            .invalidNewcomers, "email yet: make it optional"
        ),
        (#"{"roles":[\#(role())],"active":"yes"}"#, .malformed, "active"), (#"{"roles":["a"]}"#, .malformed, "role"),
    ]

    @Test("whatever else is refused, and the operator is told what to do", arguments: wrong.indices)
    func refused(index: Int) throws {
        let (text, code, word) = Self.wrong[index]
        let error = #expect(throws: ServiceProfileError.self) { try Self.parsed(text) }
        #expect(error?.code == code && error?.reason.contains(word) == true, "\(text): \(error?.reason ?? "")")
    }

    @Test("what was kept and is no profile any more is told apart from what an operator writes")
    func corrupt() {
        for text in ["", "{}", "[]"] {
            #expect(throws: StoreError(.corrupt, "")) { try ServiceProfile(kept: text) }
        }
    }

    @Test("a wildcard is the hosts below it, and neither the one that it stands over nor one that looks like it")
    func domains() throws {
        let wildcard = try LoginDomain("*.Bank.example")
        for host in ["login.bank.example", "a.b.bank.example", "LOGIN.BANK.EXAMPLE"] {
            #expect(wildcard.includes(host: host))
        }
        for host in [
            "bank.example", ".bank.example", "evilbank.example", "bank.example.evil.example", "login.bank.example.",
            "login..bank.example", "-.bank.example", "a b.bank.example", "login.bank.exampl", "",
        ] { #expect(!wildcard.includes(host: host), "\(host)") }
        let exact = try LoginDomain("bank.example")
        #expect(exact.includes(host: "Bank.Example"))
        for host in ["login.bank.example", "xbank.example", "bank.example."] { #expect(!exact.includes(host: host)) }
        #expect(try LoginDomain("localhost").includes(host: "localhost"))
    }

    @Test(
        "a login domain is a host, or a wildcard over two labels or more",
        arguments: [
            "", "*", "*.", "*.example", "**.bank.example", "*bank.example", "a.*.example", "bank..example", ".example",
            "bank.example.", "-bank.example", "bank.example:443", "https://bank.example", "bank.example/",
            "bänk.example",
            String(repeating: "a", count: 64) + ".example",
            String(repeating: "a.", count: 127) + "example",
        ])
    func noDomain(text: String) {
        #expect(throws: ServiceProfileError(.invalidDomain, "")) { try LoginDomain(text) }
    }
}
