import CountersignServer
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import SQLStore
import Settings
import Testing
import _Primitives

@Suite("Admin API: services of personalised identities, and what people have there")
struct IdentityAdministrationTests {
    private static let factors: JSON = .array([
        .array([.string("biometric"), .string("device")]), .array([.string("pin"), .string("device")]),
    ])

    private static func profile(_ changes: [String: JSON?] = [:]) -> JSONObject {
        var profile: JSONObject = [
            "roles": .array([
                .object([
                    "id": .string("user"), "name": .string("User"), "factors": Self.factors, "default": .bool(true),
                ]),
                .object(["id": .string("admin"), "factors": Self.factors]),
            ]),
            "attributes": .object(["email": .string("optional"), "givenName": .string("required")]),
        ]
        for (name, value) in changes { profile[name] = value }
        return profile
    }

    /// A server with a client, whose path is given, and two people.
    private static func run(
        _ body: @escaping @Sendable (any TestClientProtocol, _ client: String) async throws -> Void
    ) async throws {
        let server = try await ServerFixture()
        try await server.withSocketClient { client in
            let added = try await client.send(
                .post, "/admin/v1/clients",
                ["name": .string("Portal"), "redirectUris": .array([.string("https://portal.example/in")])])
            for name in ["anna", "bert"] {
                _ = try await client.send(.post, "/admin/v1/accounts", ["username": .string(name)])
            }
            try await body(client, "/admin/v1/clients/\(added.object.requiredString("clientId"))")
        }
    }

    @Test("a client becomes a service, is changed, and is none again")
    func service() async throws {
        try await Self.run { client, path in
            let path = path + "/service"
            #expect(try await client.send(.get, path).response.status == .notFound)
            #expect(try await client.send(.patch, path, ["inApp": .bool(true)]).response.status == .notFound)
            let set = try await client.send(.put, path, Self.profile())
            #expect(set.response.status == .ok, "\(set.response.text)")
            #expect(try set.object.array("roles")?.count == 2 && set.object.bool("active") == true)
            let changed = try await client.send(
                .patch, path, ["inApp": .bool(true), "loginDomains": .array([.string("*.portal.example")])])
            #expect(try changed.object.bool("inApp") == true && changed.object.array("roles")?.count == 2)
            #expect(try await client.send(.get, path).object == changed.object)
            let listed = try await client.send(.get, "/admin/v1/services")
            #expect(try listed.object.array("services") == [.object(changed.object)])
            #expect(try await client.send(.delete, path).response.status == .noContent)
            #expect(try await client.send(.delete, path).response.status == .notFound)
            let other = try await client.send(.put, "/admin/v1/clients/none/service", Self.profile())
            #expect(other.response.status == .notFound)
        }
    }

    @Test("whoever writes a role that one category of factors is enough for is told so, and it is theirs to decide")
    func oneCategory() async throws {
        try await Self.run { client, path in
            let path = path + "/service"
            #expect(try await client.send(.put, path, Self.profile()).object["warnings"] == nil)
            let weak: JSON = .array([
                .object(["id": .string("user"), "factors": Self.factors]),
                .object([
                    "id": .string("reader"),
                    "factors": .array([.array([.string("pin"), .string("biometric")]), .array([.string("pin")])]),
                ]),
            ])
            let written = try await client.send(.put, path, Self.profile(["roles": weak]))
            let warnings = try #require(try written.object.strings("warnings"))
            #expect(warnings.count == 1 && warnings[0].contains("Role reader: pin is one category"))
            #expect(warnings[0].contains(#"["pin","device"]"#))
            let changed = try await client.send(.patch, path, ["inApp": .bool(true)])
            #expect(try changed.object.strings("warnings") == warnings)
            // What is shown can be set again as it is.
            #expect(try await client.send(.get, path).object["warnings"] == nil)
        }
    }

    @Test("a profile that is none is refused, with what to do about it")
    func wrongProfiles() async throws {
        try await Self.run { client, path in
            let alone: JSON = .array([
                .object(["id": .string("a"), "factors": .array([.array([.string("device")])])])
            ])
            for (changes, word) in [
                (["roles": .array([])], "at least one role"), (["roles": alone], "without its person"),
                (["attributes": .object(["shoeSize": .string("required")])], "givenName"),
                (["loginDomains": .array([.string("https://a.example")])], "bank.example"),
                (["organisation": .string("none")], "organisation list"),
            ] as [([String: JSON?], String)] {
                let answer = try await client.send(.put, path + "/service", Self.profile(changes))
                #expect(answer.response.status == .badRequest && answer.response.text.contains(word))
            }
            #expect(try await client.send(.get, path + "/service").response.status == .notFound)
            let unknown = try await client.send(.put, path + "/service", Self.profile(["colour": .string("red")]))
            #expect(unknown.response.status == .badRequest)
        }
    }

    @Test("roles are given beside others, taken, and forgotten, and only to whom and what there is")
    func roles() async throws {
        try await Self.run { client, path in
            _ = try await client.send(.put, path + "/service", Self.profile())
            let anna = path + "/service/accounts/anna"
            let before = try await client.send(.get, anna)
            #expect(try before.object.strings("roles") == ["user"] && before.object.bool("known") == false)
            let given = try await client.send(.put, anna + "/roles/admin")
            #expect(try given.object.strings("roles") == ["user", "admin"] && given.object.bool("known") == true)
            let listed = try await client.send(.get, path + "/service/accounts")
            guard case .object(let entry)? = try listed.object.array("accounts")?.first else {
                Issue.record("nobody")
                return
            }
            #expect(try entry.string("username") == "anna" && entry.strings("roles") == ["user", "admin"])
            let next = try await client.send(
                .get, path + "/service/accounts?after=\(try entry.requiredString("accountId"))")
            #expect(try next.object.array("accounts")?.isEmpty == true)
            for role in ["user", "admin"] { _ = try await client.send(.delete, anna + "/roles/\(role)") }
            #expect(try await client.send(.get, anna).object.strings("roles") == [])
            #expect(try await client.send(.delete, anna).response.status == .noContent)
            #expect(try await client.send(.get, anna).object == before.object)
            for wrong in [
                path + "/service/accounts/anna/roles/owner", path + "/service/accounts/nobody/roles/admin",
                "/admin/v1/clients/none/service/accounts/anna/roles/admin",
            ] {
                for method in [HTTPRequest.Method.put, .delete] {
                    #expect(try await client.send(method, wrong).response.status == .notFound)
                }
            }
        }
    }

    @Test("values are added in their one spelling, and told only where they are asked for")
    func attributes() async throws {
        try await Self.run { client, _ in
            let path = "/admin/v1/accounts/anna/attributes"
            let first = try await client.send(
                .post, path, ["attribute": .string("phoneNumber"), "value": .string("+49 (30) 123-456")])
            #expect(first.response.status == .created && !first.response.text.contains("30"))
            #expect(try first.object.string("alias") == "phoneNumber" && first.object.bool("primary") == true)
            let second = try await client.send(
                .post, path,
                [
                    "attribute": .string("phoneNumber"), "value": .string("+4930999999"), "alias": .string("Work"),
                    "verified": .bool(true),
                ])
            #expect(try second.object.bool("primary") == false && second.object.bool("verified") == true)
            let told = try await client.send(.get, path)
            #expect(try told.object.array("attributes")?.count == 2 && !told.response.text.contains("+49"))
            let opened = try await client.send(.get, path + "?values=true")
            #expect(opened.response.text.contains("+4930123456") && opened.response.text.contains("+4930999999"))
            let id = try second.object.requiredString("id")
            let changed = try await client.send(
                .patch, path + "/\(id)",
                ["primary": .bool(true), "alias": .string("Office"), "verified": .bool(false)])
            #expect(try changed.object.bool("primary") == true && changed.object.string("alias") == "Office")
            #expect(try changed.object.bool("verified") == false)
            let named = try await client.send(.get, path + "/\(id)")
            #expect(named.object == changed.object && named.object["value"] == nil)
            let whole = try await client.send(.get, path + "/\(id)?values=true")
            #expect(try whole.object.string("value") == "+4930999999")
            #expect(try whole.object.string("source") == "administrator")
            for query in ["", "?values=true"] {
                for wrong in [
                    "/admin/v1/accounts/bert/attributes/\(id)", "/admin/v1/accounts/nobody/attributes/\(id)",
                    path + "/none",
                ] { #expect(try await client.send(.get, wrong + query).response.status == .notFound) }
            }
            #expect(try await client.send(.get, path + "/\(id)?values=%FF").response.status == .badRequest)
            let lowered = try await client.send(.patch, path + "/\(id)", ["primary": .bool(false)])
            #expect(lowered.response.status == .badRequest)
            let hidden = try await client.send(.patch, path + "/\(id)", ["alias": .string("a\u{202E}b")])
            #expect(hidden.response.status == .badRequest)
            #expect(try await client.send(.delete, path + "/\(id)").response.status == .noContent)
            #expect(try await client.send(.delete, path + "/\(id)").response.status == .notFound)
            guard case .object(let left)? = try await client.send(.get, path).object.array("attributes")?.first else {
                Issue.record("nothing is left")
                return
            }
            #expect(try left.bool("primary") == true)
            let history = try await client.send(.get, "/admin/v1/accounts/anna/identity-sessions")
            #expect(try history.object.array("sessions")?.isEmpty == true)
        }
    }

    @Test("a value that is none is refused with what it looks like, and without repeating it")
    func wrongValues() async throws {
        try await Self.run { client, _ in
            let path = "/admin/v1/accounts/anna/attributes"
            for (attribute, value, word) in [
                ("birthdate", "2999-01-01", "YYYY-MM-DD"), ("birthdate", "1.5.1990", "YYYY-MM-DD"),
                ("nationality", "Germany", "two letters"), ("email", "anna", "NAME@HOST"),
                ("gender", "none of yours", "female"), ("address", "Main Road 1", "postalCode"),
                ("givenName", " ", "one line"), ("shoeSize", "43", "givenName"),
            ] {
                let answer = try await client.send(
                    .post, path, ["attribute": .string(attribute), "value": .string(value)])
                #expect(answer.response.status == .badRequest && answer.response.text.contains(word), "\(attribute)")
                #expect(value == " " || !answer.response.text.contains(value))
            }
            let nobody = try await client.send(
                .post, "/admin/v1/accounts/nobody/attributes",
                ["attribute": .string("email"), "value": .string("a@b.example")])
            #expect(nobody.response.status == .notFound)
        }
    }

    @Test("an attribute has as many values as the limit says")
    func limit() async throws {
        try await Self.run { client, _ in
            let path = "/admin/v1/accounts/anna/attributes"
            let body: JSONObject = ["attribute": .string("nickname"), "value": .string("Anni")]
            for _ in 0..<Limits().valuesPerAttribute {
                #expect(try await client.send(.post, path, body).response.status == .created)
            }
            let answer = try await client.send(.post, path, body)
            #expect(answer.response.status == .conflict && answer.response.text.contains("remove one first"))
        }
    }

    @Test("organisations are added, renamed and removed, and people join and leave")
    func organisations() async throws {
        try await Self.run { client, path in
            let added = try await client.send(.post, "/admin/v1/organisations", ["name": .string("Club")])
            #expect(added.response.status == .created)
            let again = try await client.send(.post, "/admin/v1/organisations", ["name": .string("Club")])
            #expect(again.response.status == .conflict)
            let hidden = try await client.send(.post, "/admin/v1/organisations", ["name": .string("")])
            #expect(hidden.response.status == .badRequest)
            let id = try added.object.requiredString("id")
            let organisation = "/admin/v1/organisations/\(id)"
            let renamed = try await client.send(.patch, organisation, ["name": .string("Choir")])
            #expect(try renamed.object.string("name") == "Choir")
            #expect(try await client.send(.get, organisation).object == renamed.object)
            _ = try await client.send(.put, path + "/service", Self.profile(["organisation": .string(id)]))
            let standing = path + "/service/accounts/anna"
            #expect(try await client.send(.get, standing).object.bool("member") == false)
            #expect(try await client.send(.put, organisation + "/members/anna").response.status == .noContent)
            #expect(try await client.send(.get, standing).object.bool("member") == true)
            #expect(try await client.send(.get, organisation + "/members").response.text.contains("anna"))
            let needed = try await client.send(.delete, organisation)
            #expect(needed.response.status == .conflict && needed.response.text.contains("change the service first"))
            #expect(try await client.send(.delete, organisation + "/members/anna").response.status == .noContent)
            #expect(try await client.send(.delete, organisation + "/members/anna").response.status == .notFound)
            #expect(try await client.send(.put, organisation + "/members/nobody").response.status == .notFound)
            _ = try await client.send(.patch, path + "/service", ["organisation": .string("")])
            #expect(try await client.send(.delete, organisation).response.status == .noContent)
            for (method, place) in [
                (HTTPRequest.Method.get, ""), (.delete, ""), (.get, "/members"), (.put, "/members/anna"),
            ] {
                #expect(try await client.send(method, organisation + place).response.status == .notFound)
            }
        }
    }

    @Test("somebody is invited, with an account of their own where nobody has the address, and it is taken back")
    func invites() async throws {
        try await Self.run { client, path in
            _ = try await client.send(.put, path + "/service", Self.profile())
            let service = JSON.string(String(path.split(separator: "/").last ?? ""))
            func create(_ email: String, _ changes: [String: JSON] = [:]) async throws -> (
                HTTPResponse.Status, JSONObject
            ) {
                var body: JSONObject = ["email": .string(email), "service": service, "role": .string("admin")]
                for (name, value) in changes { body[name] = value }
                let answer = try await client.send(.post, "/admin/v1/invites", body)
                return (answer.response.status, answer.object)
            }
            let (status, made) = try await create("new@post.example")
            #expect(status == .created, "\(made)")
            #expect(try made.bool("mailed") == true)
            #expect(try made.requiredString("link").hasPrefix("http://localhost:8080/invitation?link="))
            // Both are said once.
            var invite = made
            invite["link"] = nil
            invite["mailed"] = nil
            #expect(try invite.string("state") == "open")
            let account = try invite.requiredString("provisionalAccount")
            #expect(try await client.send(.get, "/admin/v1/accounts/\(account)").response.status == .ok)
            _ = try await client.send(
                .post, "/admin/v1/accounts/bert/emails",
                ["email": .string("bert@post.example"), "verified": .bool(true)])
            let (_, known) = try await create("Bert@post.example")
            #expect(known["provisionalAccount"] == nil && known["state"] == .string("open"))
            let listed = try await client.send(.get, "/admin/v1/invites?email=new@post.example")
            #expect(try listed.object.array("invites") == [.object(invite)])
            let path = "/admin/v1/invites/\(try invite.requiredString("id"))"
            #expect(try await client.send(.get, path).object == invite)
            for (body, status) in [
                (["lifetimeSeconds": .integer(60)], .conflict), (["lifetimeSeconds": .integer(0)], .badRequest),
                (["lifetimeSeconds": .integer(29 * 24 * 60 * 60)], .badRequest), ([:], .badRequest),
                (["email": .string("x@post.example")], .badRequest),
            ] as [(JSONObject, HTTPResponse.Status)] {
                #expect(try await client.send(.patch, path, body).response.status == status, "\(body)")
            }
            #expect(try await client.send(.get, path).object == invite)
            let span: JSONObject = ["lifetimeSeconds": .integer(28 * 24 * 60 * 60)]
            let prolonged = try await client.send(.patch, path, span)
            #expect(try prolonged.response.status == .ok && prolonged.object.string("state") == "open")
            #expect(try prolonged.object.requiredString("expiresAt") > invite.requiredString("expiresAt"))
            #expect(try await client.send(.get, path).object == prolonged.object)
            #expect(try await client.send(.patch, "/admin/v1/invites/none", span).response.status == .notFound)
            #expect(try await client.send(.delete, path).response.status == .noContent)
            #expect(try await client.send(.delete, path).response.status == .conflict)
            let late = try await client.send(.patch, path, span)
            #expect(late.response.status == .conflict && late.response.text.contains("make another one"))
            #expect(try await client.send(.get, path).object["state"] == .string("revoked"))
            #expect(try await client.send(.get, "/admin/v1/accounts/\(account)").response.status == .notFound)
            for (changes, status) in [
                (["role": .string("owner")], .notFound), (["organisation": .string("none")], .notFound),
                (["lifetimeSeconds": .integer(0)], .badRequest),
                (["lifetimeSeconds": .integer(29 * 24 * 60 * 60)], .badRequest),
            ] as [([String: JSON], HTTPResponse.Status)] {
                #expect(try await create("x@post.example", changes).0 == status)
            }
            #expect(try await create("nobody").0 == .badRequest)
            let nothing = try await client.send(.post, "/admin/v1/invites", ["email": .string("x@post.example")])
            #expect(nothing.response.status == .badRequest)
        }
    }

    @Test("a person has further addresses, each verified or not")
    func emails() async throws {
        try await Self.run { client, _ in
            let path = "/admin/v1/accounts/anna/emails"
            let added = try await client.send(.post, path, ["email": .string("a@post.example")])
            #expect(try added.response.status == .created && added.object.bool("verified") == false)
            let again = try await client.send(.post, path, ["email": .string("A@post.example")])
            #expect(again.response.status == .conflict)
            #expect(try await client.send(.post, path, ["email": .string("a")]).response.status == .badRequest)
            let email = path + "/" + (try added.object.requiredString("id"))
            let verified = try await client.send(.patch, email, ["verified": .bool(true)])
            #expect(verified.response.status == .noContent)
            guard case .object(let shown)? = try await client.send(.get, path).object.array("emails")?.first else {
                Issue.record("no address")
                return
            }
            #expect(try shown.bool("verified") == true && shown.string("email") == "a@post.example")
            #expect(try await client.send(.get, email).object == shown)
            let others = email.replacing("/anna/", with: "/bert/")
            for wrong in [others, email.replacing("/anna/", with: "/nobody/"), path + "/none"] {
                #expect(try await client.send(.get, wrong).response.status == .notFound, "\(wrong)")
            }
            #expect(try await client.send(.delete, email).response.status == .noContent)
            for method in [HTTPRequest.Method.get, .delete] {
                #expect(try await client.send(method, email).response.status == .notFound)
            }
            #expect(try await client.send(.patch, email, ["verified": .bool(true)]).response.status == .notFound)
        }
    }
}
