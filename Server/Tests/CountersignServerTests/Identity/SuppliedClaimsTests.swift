import Accounts
import CeremonyEngine
import Countersign
import CountersignBackend
import CountersignServer
import CountersignTestKit
import Foundation
import PersonalInformation
import Records
import Testing
import UAFClient
import _Primitives

@Suite("Decision 57: what a person types on the app's screen is what the service reads, in every attribute")
struct SuppliedClaimsTests {
    private static let rules = PersonalInformationRules(
        birthdate: BirthdateValidator(latest: CalendarDay("2027-01-15")!))

    /// What the service asks for: every attribute with an entry in ``told``, and every name.
    private static let asked = PersonalAttribute.allCases.filter {
        Self.told[$0] != nil || Self.rules.validator(for: $0) is NameValidator
    }

    private static func profile() -> JSONObject {
        var asked: JSONObject = [:]
        for attribute in Self.asked { asked[attribute.rawValue] = .string("required") }
        return ["roles": .array([.resident]), "attributes": .object(asked), "inApp": .bool(true)]
    }

    /// Answers on the screen of the app as a person does: some of it in a spelling that is not the one that is kept.
    private func type(into info: AuthenticationPersonalInformation) throws {
        #expect(try #require(info.username).setValue(value: "wilma.meier") == .valid)
        #expect(try #require(info.nickname).setValue(value: " Wil ") == .valid)
        #expect(try #require(info.givenName).setValue(value: "Wilhelmine Zoe\u{308}") == .valid)
        #expect(try #require(info.familyName).setValue(value: "Meier-O’Neill") == .valid)
        let birthdate = try #require(info.birthdate)
        let day = try #require(CalendarDay(year: 1987, month: 3, day: 14))
        #expect(birthdate.setValue(value: day.date(in: birthdate.validator.timeZone)) == .valid)
        let address = Address(
            street: " Rue du Lac", houseNumber: "7b", postalCode: "1204", city: "Gene\u{300}ve", country: "ch")
        #expect(try #require(info.address).setValue(value: address) == .valid)
        #expect(try #require(info.nationality).setValue(value: "ch") == .valid)
        #expect(try #require(info.placeOfBirth).setValue(value: "Zu\u{308}rich") == .valid)
        #expect(try #require(info.gender).setValue(value: .female) == .valid)
        #expect(try #require(info.salutation).setValue(value: "Dr. Meier") == .valid)
        // Nobody can type what somebody has to vouch for: it is chosen by the word that the account has for it.
        let (email, phone) = (try #require(info.email), try #require(info.phoneNumber))
        #expect(email.setValue(value: "wilma@elsewhere.example") == .notSuppliable)
        #expect(email.setSelection(email.aliases.first { $0.alias == "Office" }) != nil)
        #expect(phone.setSelection(phone.aliases.first { $0.alias == "Mobile" }) != nil)
        for case .name(let other) in info.requested where Self.told[other.attribute] == nil {
            #expect(other.setValue(value: other.attribute.example) == .valid)
        }
    }

    /// What the service is to read: claims of userinfo as OpenID Connect writes them, and the text of each for a back end.
    /// An attribute without an entry has its example, under the claim that the attribute names.
    private static let told: [PersonalAttribute: (claim: JSON, text: String)] = [
        .username: (.string("wilma.meier"), "wilma.meier"), .nickname: (.string("Wil"), "Wil"),
        .givenName: (.string("Wilhelmine Zo\u{EB}"), "Wilhelmine Zo\u{EB}"),
        .familyName: (.string("Meier-O’Neill"), "Meier-O’Neill"),
        .birthdate: (.string("1987-03-14"), "1987-03-14"),
        .address: (
            .object([
                "formatted": .string("Rue du Lac 7b\n1204 Gen\u{E8}ve\nCH"),
                "street_address": .string("Rue du Lac 7b"), "postal_code": .string("1204"),
                "locality": .string("Gen\u{E8}ve"), "country": .string("CH"),
            ]), "Rue du Lac 7b\n1204 Gen\u{E8}ve\nCH"
        ),
        .nationality: (.array([.string("CH")]), "CH"),
        .placeOfBirth: (.object(["locality": .string("Z\u{FC}rich")]), "Z\u{FC}rich"),
        .gender: (.string("female"), "female"), .salutation: (.string("Dr. Meier"), "Dr. Meier"),
        .email: (.string(IdentityStage.values.work), IdentityStage.values.work),
        .phoneNumber: (.string("+41225550123"), "+41225550123"),
    ]
    private static let claimNames: [PersonalAttribute: String] = [
        .username: "preferred_username", .nickname: "nickname", .givenName: "given_name", .familyName: "family_name",
        .birthdate: "birthdate", .address: "address", .nationality: "nationalities", .placeOfBirth: "place_of_birth",
        .gender: "gender", .salutation: "salutation", .email: "email", .phoneNumber: "phone_number",
    ]

    private static func told(_ attribute: PersonalAttribute) throws -> (name: String, claim: JSON, text: String) {
        let name = Self.claimNames[attribute] ?? attribute.claimName
        if let told = Self.told[attribute] { return (name, told.claim, told.text) }
        return (name, try #require(attribute.claim(of: attribute.example)), attribute.example)
    }

    @Test("All attributes, from the screen of the app to the claims of userinfo and to the service's back end")
    func everyAttribute() async throws {
        try await IdentityStage.run { stage async throws in
            let identities = stage.server.assembly.identities
            _ = try await identities.setService(stage.party.id, to: Self.profile(), by: "test")
            for (alias, number) in [("Mobile", "+41225550123"), ("Landline", "+41225550199")] {
                _ = try await identities.addValue(
                    .init(attribute: "phoneNumber", value: number, alias: alias, isVerified: true), to: "alice",
                    by: "test")
            }
            let phone = try await stage.personalizedPhone(pin: Haul.right)
            let backend = IdentityBackend(
                BackendConfiguration(
                    issuer: IdentityStage.issuer, clientID: stage.party.id,
                    clientSecret: SecretBytes(utf8: stage.party.secret), redirectURI: stage.party.redirectURI),
                transport: stage.traffic, time: stage.server.clock.timeSource)

            for isFirst in [true, false] {
                let signIn = backend.begin()
                let authenticator = phone.sdk.authenticator
                let data = try await authenticator.fetchInAppAuthenticationInitializationData(
                    InAppAuthenticationRequest(
                        idmIdentifier: IdentityStage.issuer, clientID: signIn.offer.clientID,
                        redirectURI: signIn.offer.redirectURI, scope: signIn.offer.scope, state: signIn.offer.state,
                        nonce: signIn.offer.nonce, codeChallenge: signIn.offer.codeChallenge))
                let request = try await authenticator.startAuthentication(data: data)
                // What was typed once is the account's, and is not asked for again.
                if isFirst { try self.type(into: request.info) }
                guard
                    case .success(let info) = try await authenticator.prepareAuthenticationUserInformation(
                        request: request),
                    case .serviceLogin(let login) = try await phone.finish(info, pin: Haul.right)
                else {
                    Issue.record("not signed in")
                    return
                }
                let code = try await authenticator.fetchAuthorizationCode(login)
                let person = try await backend.finish(
                    signIn, code: code.code, state: code.state, issuer: code.issuer)

                let userinfo = try #require(stage.traffic.exchanges.last { $0.path == "/oauth2/userinfo" })
                guard case .object(let claims) = try JSON(parsing: userinfo.answer) else { throw OtherProcess() }
                for attribute in Self.asked {
                    let told = try Self.told(attribute)
                    #expect(claims[told.name] == told.claim, "\(attribute): \(claims[told.name]?.text ?? "nothing")")
                    #expect(person.attributes[attribute] == told.text, "\(attribute)")
                }
                #expect(claims["email_verified"] == .bool(true) && claims["phone_number_verified"] == .bool(true))
                #expect(Set(person.attributes.keys) == Set(Self.asked))
                // Neither does the service learn the other values that the account has, nor anybody what was typed in it.
                let all = String(decoding: userinfo.answer, as: UTF8.self)
                #expect(!all.contains(IdentityStage.values.home) && !all.contains("+41225550199"))
                #expect(
                    Set(claims.members.map(\.name))
                        == Set(try Self.asked.map { try Self.told($0).name }).union([
                            "sub", "roles", "email_verified", "phone_number_verified",
                        ]))
            }
        }
    }
}
