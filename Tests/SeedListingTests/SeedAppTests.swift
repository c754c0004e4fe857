import Countersign
import CountersignBackend
import CountersignNames
import CountersignTestKit
import Foundation
import PersonalInformation
import Testing

/// The app that goes on from the listings. Its tests run one after the other with those of the listings, because both have one
/// SDK, as an app has.
extension SeedListingTests {
    private typealias Change = @Sendable (inout VirtualIdentityServer.Service) -> Void

    /// Runs the app from its beginning to its end.
    private func end(
        of data: AuthenticationInitializationData, _ script: YourImplementation.Script = YourImplementation.Script()
    ) async throws -> SeedApp.Ending {
        YourImplementation.script = script
        return try await onThread { try SeedApp().startAuthentication(authenticationInitializationData: data) }
    }

    /// The same, for a login at a service that asks so.
    private func login(
        _ phone: VirtualIdentityPhone, _ script: YourImplementation.Script = YourImplementation.Script(),
        asking change: @escaping Change = { _ in }
    ) async throws -> SeedApp.Ending {
        await phone.server.ask {
            $0 = VirtualIdentityServer.Service()
            change(&$0)
        }
        return try await self.end(of: try phone.authenticationData(try await phone.server.authenticationCode()), script)
    }

    private static let home = PersonalInformationAlias(id: "home", alias: "Home", isPrimary: true)
    private static let work = PersonalInformationAlias(id: "work", alias: "Work", isPrimary: false)

    /// All twelve: what has to be verified is there twice, and everything else is missing.
    private static let allAttributes = SeedAttributes.known.map { attribute in
        RequestedAttribute(attribute, aliases: attribute.needsVerification ? [Self.home, Self.work] : [])
    }

    private static func allAnswers(email: String, phoneNumber: String) -> [PersonalAttribute: AttributeAnswer] {
        [
            .username: .value("ada"), .nickname: .value("Ada"), .givenName: .value("Augusta Ada"),
            .familyName: .value("King"), .birthdate: .value("2001-05-01"),
            .address: .value("St James's Square\n12\nSW1Y 4JH\nLondon\nGB"), .nationality: .value("GB"),
            .placeOfBirth: .value("London"), .gender: .value("female"), .salutation: .value("Countess"),
            .email: .alias(id: email), .phoneNumber: .alias(id: phoneNumber),
        ]
    }

    // MARK: Attributes

    @Test(
        "all twelve attributes are confirmed, each by a value of its own type or by choosing one; mistyped ones again")
    func allTwelve() async throws {
        let phone = try await SeedWorld.shared.spendable()
        var script = YourImplementation.Script()
        script.alias = { $0.first { $0.alias == "Work" }! }
        let right = script.answers
        script.answers.username.insert("ada king", at: 0)
        script.answers.nickname.insert("", at: 0)
        script.answers.familyName.insert(String(repeating: "x", count: 129), at: 0)
        script.answers.birthdate.insert(
            contentsOf: [Date(timeIntervalSince1970: -9_000_000_000), .distantFuture], at: 0)
        script.answers.address.insert(
            Address(street: "St James's Square", postalCode: "", city: "London", country: "GB"), at: 0)
        script.answers.nationality.insert("XX", at: 0)
        script.answers.placeOfBirth.insert(nil, at: 0)
        script.answers.gender.insert(nil, at: 0)
        script.answers.salutation.insert(String(repeating: "x", count: 200), at: 0)
        guard case .signedIn = try await self.login(phone, script, asking: { $0.attributes = Self.allAttributes })
        else { throw WrongCode() }
        #expect(
            YourImplementation.script.questions == [
                "username", "username: No user name has such characters.", "nickname",
                "nickname: The input must not be empty.", "givenName", "familyName",
                "familyName: The input can't be longer than 128 characters.", "birthdate",
                "birthdate: Nobody was born before 1900-01-01.", "birthdate: Nobody was born after 2027-01-15.",
                "address", "address: The postal code is missing.", "nationality",
                "nationality: There is no such country.", "placeOfBirth",
                "placeOfBirth: The input must not be empty.", "gender", "gender: The input must not be empty.",
                "salutation", "salutation: The input can't be longer than 64 characters.",
            ])
        #expect(await phone.server.accepted.last == Self.allAnswers(email: "work", phoneNumber: "work"))
        #expect(
            YourImplementation.script.signed == [
                SeedAttributes.known.map { $0.needsVerification ? "\($0) (Work)" : "\($0)" }
            ])
        #expect(right.username == ["ada"])
    }

    @Test("what the server finds wrong, of any type, is asked again and nothing else is, until it is right")
    func allCorrected() async throws {
        let phone = try await SeedWorld.shared.spendable()
        await phone.server.findNext(
            Dictionary(
                uniqueKeysWithValues: SeedAttributes.known.map {
                    ($0, $0.needsVerification ? .noAliasSelected : .invalid)
                }))
        await phone.server.findNext([.birthdate: .invalid, .address: .dataMissing, .email: .noAliasSelected])
        var script = YourImplementation.Script()
        script.answers.username.insert("charles", at: 0)
        script.answers.birthdate.insert(
            contentsOf: [Date(timeIntervalSince1970: 0), Date(timeIntervalSince1970: 86_400)], at: 0)
        script.answers.gender.insert(.male, at: 0)
        // The e-mail address is chosen three times, the telephone number twice.
        script.alias = { aliases in
            let count = YourImplementation.script.shownAliases
            return aliases.first { $0.alias == (count < 4 ? "Home" : "Work") }!
        }
        guard case .signedIn = try await self.login(phone, script, asking: { $0.attributes = Self.allAttributes })
        else { throw WrongCode() }
        #expect(await phone.server.accepted.last == Self.allAnswers(email: "work", phoneNumber: "work"))
        let questions = YourImplementation.script.questions
        #expect(questions.filter { !$0.contains(":") }.count == 10)
        #expect(
            questions.dropFirst(10).filter { $0.hasSuffix("The service does not take that.") }.count == 11
                && questions.count == 22)
        #expect(
            questions.suffix(2) == ["birthdate: The service does not take that.", "address: The service needs that."])
        #expect(YourImplementation.script.shownAliases == 5)
    }

    @Test("what the service can do without goes there when the person wants it, and not when they think better of it")
    func optional() async throws {
        let phone = try await SeedWorld.shared.spendable()
        let change: Change = {
            $0.attributes = [
                RequestedAttribute(.givenName, aliases: [Self.home]),
                RequestedAttribute(.nickname, isRequired: false, aliases: [Self.work]),
            ]
        }
        var script = YourImplementation.Script()
        script.gives = [true]
        _ = try await self.login(phone, script, asking: change)
        #expect(await phone.server.accepted.last == [.givenName: .alias(id: "home"), .nickname: .alias(id: "work")])
        #expect(YourImplementation.script.told == [.givenName])
        // The server finds something, and the person is asked once more.
        await phone.server.findNext([.nickname: .noAliasSelected])
        script.gives = [true, false]
        _ = try await self.login(phone, script, asking: change)
        #expect(YourImplementation.script.questions == ["nickname?", "nickname?"])
        #expect(await phone.server.accepted.last == [.givenName: .alias(id: "home")])
        #expect(YourImplementation.script.signed == [["givenName (Home)"]])
    }

    @Test("what has to be verified, and is not there, cannot be given here") func verifiedElsewhere() async throws {
        let phone = try await SeedWorld.shared.spendable()
        let before = await phone.server.accepted.count
        for attribute: PersonalAttribute in [.email, .phoneNumber] {
            await #expect(throws: YourError.yourErrorCase) {
                _ = try await self.login(phone) { $0.attributes = [RequestedAttribute(attribute)] }
            }
            #expect(YourImplementation.script.questions.isEmpty)
        }
        #expect(await phone.server.accepted.count == before)
        // A server that lets it be given here takes it.
        let suppliable = [
            RequestedAttribute(.email, isSuppliable: true), RequestedAttribute(.phoneNumber, isSuppliable: true),
        ]
        _ = try await self.login(phone) { $0.attributes = suppliable }
        #expect(
            await phone.server.accepted.last == [
                .email: .value("ada@example.org"), .phoneNumber: .value("+442079460018"),
            ])
    }

    // MARK: The eight results

    @Test("userLogin: a browser is signed in, and nothing more is to be done") func userLogin() async throws {
        let phone = try await SeedWorld.shared.spendable()
        var script = YourImplementation.Script()
        script.role = { $0[1] }
        guard
            case .signedIn(let result) = try await self.login(
                phone, script,
                asking: {
                    $0.roles = [("a", "Patient", [["pin", "device"]]), ("b", "Doctor", [["pin", "device"]])]
                    $0.isForLinks = true
                })
        else { throw WrongCode() }
        #expect(result.relyingPartyName == "Health Portal" && result.relyingPartyUrl == "https://health.example")
        #expect(
            result.roleName == "Doctor"
                && result.finishedAt == Date(timeIntervalSince1970: Double(phone.server.now.milliseconds) / 1000))
        #expect(result.returnAddress?.absoluteString == "https://health.example/back")
    }

    @Test("serviceLogin: the app fetches its code, for which its back end gets the person and what they confirmed")
    func serviceLogin() async throws {
        let phone = try await SeedWorld.shared.spendable()
        let server = phone.server
        await server.register(clientID: "seed-app", secret: "s3cret", redirectURI: "https://app.example/back")
        await server.hold("ada@example.org", as: "work")
        await server.ask {
            $0 = VirtualIdentityServer.Service()
            $0.attributes = [
                RequestedAttribute(.givenName), RequestedAttribute(.email, aliases: [Self.home, Self.work]),
            ]
        }
        let backend = IdentityBackend(
            BackendConfiguration(
                issuer: server.identifier, clientID: "seed-app", clientSecret: SecretBytes(Array("s3cret".utf8)),
                redirectURI: "https://app.example/back"),
            transport: server, time: phone.clock.timeSource)
        let signIn = backend.begin()
        let data = try await phone.sdk.authenticator.fetchInAppAuthenticationInitializationData(
            InAppAuthenticationRequest(
                idmIdentifier: server.identifier, clientID: signIn.offer.clientID,
                redirectURI: signIn.offer.redirectURI, scope: signIn.offer.scope, state: signIn.offer.state,
                nonce: signIn.offer.nonce, codeChallenge: signIn.offer.codeChallenge))
        var script = YourImplementation.Script()
        script.alias = { $0.first { $0.alias == "Work" }! }
        guard case .code(let code) = try await self.end(of: data, script) else { throw WrongCode() }
        #expect(code.state == signIn.offer.state && code.issuer == server.identifier)
        let person = try await backend.finish(signIn, code: code.code, state: code.state, issuer: code.issuer)
        #expect(person.attributes == [.givenName: "Augusta Ada", .email: "ada@example.org"])
        #expect(!person.mappingID.isEmpty && person.roles == ["patient"])
    }

    @Test("apiAccessAddFactor: the finger is added, and signs from then on") func addFactor() async throws {
        let phone = try await SeedWorld.shared.spendable()
        await phone.server.ask { $0 = VirtualIdentityServer.Service() }
        let data = try await phone.sdk.personalizer.startAddAuthenticationFactor(phone.server.identifier)
        phone.sensor.feel(.match)
        guard case .factorAdded = try await self.end(of: data) else { throw WrongCode() }
        #expect(try phone.sdk.personalizer.personalizedIdentities[0].enrolledFactors.contains(.biometric))
        phone.sensor.feel(.match)
        guard
            case .signedIn = try await self.login(
                phone, asking: { $0.roles = [("a", "Patient", [["biometric", "device"]])] })
        else { throw WrongCode() }
    }

    @Test("a finger in the place of one that has ended, by the listing that shows no text") func replacedFinger()
        async throws
    {
        let phone = try await SeedWorld.shared.personalized(withFinger: true)
        await phone.server.ask { $0 = VirtualIdentityServer.Service() }
        phone.sensor.enroll(Array("other fingers".utf8))
        let data = try await phone.sdk.personalizer.startAddAuthenticationFactor(phone.server.identifier)
        YourImplementation.script = YourImplementation.Script()
        try await onThread { try SeedListing().startAuthentication(authenticationInitializationData: data) }
        let again = try await phone.sdk.personalizer.startAddAuthenticationFactor(phone.server.identifier)
        phone.sensor.feel(.match)
        guard case .factorAdded = try await self.end(of: again) else { throw WrongCode() }
        #expect(try phone.sdk.personalizer.personalizedIdentities[0].enrolledFactors.contains(.biometric))
        _ = try await SeedWorld.shared.spendable()
    }

    @Test("apiAccessChangePin: a PIN that will not do is asked again, the new one signs, and the old one does not")
    func changePin() async throws {
        let phone = try await SeedWorld.shared.spendable()
        await phone.server.ask { $0 = VirtualIdentityServer.Service() }
        var script = YourImplementation.Script()
        script.newPins = ["12", "111111", "824193", "970358"]
        let data = try await phone.sdk.personalizer.startChangePin(idmIdentifier: phone.server.identifier)
        guard case .pinChanged = try await self.end(of: data, script) else { throw WrongCode() }
        #expect(
            YourImplementation.script.errorTexts == [
                nil, "The PIN is not taken: tooShort.", "The PIN is not taken: tooSimple.",
                "The PIN is not taken: unchanged.",
            ])
        script = self.patient(phone)
        script.pins = ["824193", "970358"]
        guard case .signedIn = try await self.login(phone, script) else { throw WrongCode() }
        #expect(YourImplementation.script.waits.count == 1)
    }

    @Test("apiAccessMergeComplete: the invitation goes into the account, and the person hears of which server")
    func merged() async throws {
        let phone = try await SeedWorld.shared.spendable()
        await phone.server.ask { $0 = VirtualIdentityServer.Service() }
        let code = try await phone.server.activationCode(pin: "970358", mayMerge: true)
        guard case .mergePersonalization(let identifier, let data) = try await phone.open(code, pin: "970358") else {
            throw WrongCode()
        }
        YourImplementation.script = YourImplementation.Script()
        let ending = try await onThread {
            try SeedApp().startAuthentication(authenticationInitializationData: data)
        }
        guard case .merged(idmIdentifier: let merged) = ending else { throw WrongCode() }
        #expect(merged == identifier && merged == phone.server.identifier)
        let error = await #expect(throws: CountersignError.self) { _ = try await phone.open(code, pin: "970358") }
        #expect(error?.errorCode == .activationDataConsumed)
    }

    @Test("apiAccessRequestNewActivationData: another phone is personalised with the code, and both sign in")
    func newActivation() async throws {
        let phone = try await SeedWorld.shared.spendable()
        await phone.server.ask { $0 = VirtualIdentityServer.Service() }
        let data = try await phone.sdk.personalizer.startRequestNewActivationData(
            idmIdentifier: phone.server.identifier)
        guard case .activation(let code) = try await self.end(of: data) else { throw WrongCode() }
        let other = try await VirtualIdentityPhone(server: phone.server)
        guard case .newPersonalization(let personalization) = try await other.open(code, pin: "970358") else {
            throw WrongCode()
        }
        try await other.sdk.personalizer.finishPersonalization(request: personalization)
        let activations = await phone.server.activeActivations
        #expect(
            Set(activations).isSuperset(
                of: try (phone.sdk.personalizer.personalizedIdentities + other.sdk.personalizer.personalizedIdentities)
                    .map(\.activation)))
        guard
            case .userLogin = try await other.authenticate(
                try other.authenticationData(try await phone.server.authenticationCode()), pin: "970358"),
            case .signedIn = try await self.login(phone)
        else { throw WrongCode() }
    }

    @Test("apiAccessDelete: nothing is deleted after a no, and everything after a yes") func deletion() async throws {
        let phone = try await SeedWorld.shared.spendable()
        await phone.server.ask { $0 = VirtualIdentityServer.Service() }
        let activation = try phone.sdk.personalizer.personalizedIdentities[0].activation
        var script = YourImplementation.Script()
        script.deletes = false
        let first = try await phone.sdk.personalizer.startDeletion(idmIdentifier: phone.server.identifier)
        await #expect(throws: YourError.yourErrorCase) { _ = try await self.end(of: first, script) }
        #expect(try phone.sdk.personalizer.personalizedIdentities.count == 1)
        #expect(await phone.server.activeActivations.contains(activation))
        let second = try await phone.sdk.personalizer.startDeletion(idmIdentifier: phone.server.identifier)
        guard case .deleted = try await self.end(of: second) else { throw WrongCode() }
        #expect(try phone.sdk.personalizer.personalizedIdentities.isEmpty)
        #expect(await !phone.server.activeActivations.contains(activation))
    }

    @Test("lockout: in a process of any kind the rest is waited out, and the same object is signed anew to its result")
    func lockoutOfAnyKind() async throws {
        let phone = try await SeedWorld.shared.spendable()
        await phone.server.ask { $0 = VirtualIdentityServer.Service() }
        var script = self.patient(phone)
        script.pins = ["111111", "222222", "824193"]
        let began = phone.server.now
        let data = try await phone.sdk.personalizer.startChangePin(idmIdentifier: phone.server.identifier)
        guard case .pinChanged = try await self.end(of: data, script) else { throw WrongCode() }
        let waits = YourImplementation.script.waits.map { Int64($0.timeIntervalSince1970) - began.seconds }
        #expect(waits == [5, 20])
        // Nothing was left of the signatures: all factors were asked for each time.
        #expect(YourImplementation.script.signed.count == 3)
    }

    @Test("lockout for good: the identity goes from the phone, which another activation personalises anew")
    func lockoutForGood() async throws {
        let phone = try await SeedWorld.shared.spendable()
        let former = try phone.sdk.personalizer.personalizedIdentities[0].activation
        await phone.server.allow(attempts: 2)
        var script = self.patient(phone)
        script.pins = ["111111", "222222"]
        await #expect(throws: YourError.yourErrorCase) { _ = try await self.login(phone, script) }
        #expect(YourImplementation.script.waits.count == 1)
        await phone.server.allow(attempts: 10)
        #expect(try phone.sdk.personalizer.personalizedIdentities.isEmpty)
        #expect(await !phone.server.activeActivations.contains(former))
        try await phone.personalize()
        guard case .signedIn = try await self.login(phone) else { throw WrongCode() }
    }

    /// A person who waits as long as they are told to.
    private func patient(_ phone: VirtualIdentityPhone) -> YourImplementation.Script {
        let clock = phone.clock
        var script = YourImplementation.Script()
        script.wait = { moment in
            let left = Int64((moment.timeIntervalSince1970 * 1000).rounded()) - clock.now().milliseconds
            clock.advance(by: .milliseconds(left))
        }
        return script
    }
}
