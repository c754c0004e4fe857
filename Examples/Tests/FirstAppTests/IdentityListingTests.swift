import Ceremony
import Countersign
import CountersignTestKit
import Foundation
import PersonalInformation
import Testing
import UAFClient
import _Primitives

@testable import FirstApp

/// A person in front of the app: what they say, and what they were shown.
actor ScriptedScreens: IdentityScreens {
    private let clock: FakeClock?
    private var pins: [String] = []
    private var names: [String] = []
    private var days: [Date] = []
    private var addresses: [Address] = []
    private var genders: [Gender] = []
    private var role = 0
    private var refused: String?
    private var agreements = 0
    private(set) var shown: [String] = []
    private(set) var logged: [String] = []
    private(set) var asked: [String] = []
    private(set) var opened: [URL] = []
    private(set) var waits: [Duration] = []

    init(clock: FakeClock?) { self.clock = clock }

    func type(pins: String...) { self.pins += pins }
    func type(names: String...) { self.names += names }
    func choose(days: Date...) { self.days += days }
    func type(addresses: Address...) { self.addresses += addresses }
    func choose(genders: Gender...) { self.genders += genders }
    func choose(role: Int) { self.role = role }
    /// Answers no to a question that begins so; `nil`: to none.
    func refuse(_ beginning: String?) { self.refused = beginning }
    /// Answers yes to a question so often, and no from then on.
    func refuseFromNow(on beginning: String, after count: Int) { (self.refused, self.agreements) = (beginning, count) }
    func forget() { (self.shown, self.asked) = ([], []) }

    func pin(_ why: String) throws -> String {
        self.asked.append(why)
        guard !self.pins.isEmpty else { throw GivenUp() }
        return self.pins.removeFirst()
    }
    func role(of roles: [RequestedRole]) -> RequestedRole {
        self.asked.append(roles.map(\.name).joined(separator: " or "))
        return roles[self.role]
    }
    private func next<Value>(_ answers: inout [Value], _ attribute: String, _ error: String?) throws -> Value {
        self.asked.append([attribute, error].compactMap(\.self).joined(separator: ": "))
        guard !answers.isEmpty else { throw GivenUp() }
        return answers.removeFirst()
    }
    func text(of attribute: String, _ error: String?) throws -> String { try self.next(&self.names, attribute, error) }
    func day(of attribute: String, _ error: String?) throws -> Date { try self.next(&self.days, attribute, error) }
    func address(of attribute: String, _ error: String?) throws -> Address {
        try self.next(&self.addresses, attribute, error)
    }
    func gender(of attribute: String, _ error: String?) throws -> Gender {
        try self.next(&self.genders, attribute, error)
    }
    func choice(of attribute: String, among aliases: Set<PersonalInformationAlias>) throws -> PersonalInformationAlias {
        self.asked.append("\(attribute): \(aliases.map(\.alias).sorted().joined(separator: " or "))")
        guard let first = aliases.first(where: { !$0.isPrimary }) else { throw GivenUp() }
        return first
    }
    func agrees(to sentence: String) -> Bool {
        self.asked.append(sentence)
        guard let refused, sentence.hasPrefix(refused) else { return true }
        self.agreements -= 1
        return self.agreements >= 0
    }
    func show(_ sentence: String) { self.shown.append(sentence) }
    func log(_ error: any Error) { self.logged.append("\(error)") }
    func openInBrowser(_ address: URL) { self.opened.append(address) }
    func wait(for duration: Duration) {
        self.waits.append(duration)
        self.clock?.advance(by: duration)
    }
}

@Suite("Decision 65: an app made of the guide to identities") struct IdentityListingTests {
    private let clock = FakeClock()
    private let server: VirtualIdentityServer
    private let phone: VirtualIdentityPhone
    private let screens: ScriptedScreens

    init() async throws {
        self.server = try VirtualIdentityServer(clock: self.clock)
        self.phone = try await VirtualIdentityPhone(server: self.server, sensor: ScriptedSensor(enrolledSet: nil))
        self.screens = ScriptedScreens(clock: self.clock)
    }

    /// Personalises the app by its listings.
    private func personalize() async throws {
        try await self.personalize(with: try await self.server.activationCode(pin: "824193"))
        await self.screens.forget()
    }

    private func personalize(with code: String) async throws {
        await self.screens.type(pins: "824193")
        try await handle(code, with: self.phone.sdk, on: self.screens)
    }

    private func signIn() async throws {
        try await handle(try await self.server.authenticationCode(), with: self.phone.sdk, on: self.screens)
    }

    @Test("Personalise an app: it opens, is personalised with a code, and is so after its next start")
    func opened() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "listings-\(UUID().uuidString)").path()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        // The listing has the device's own clock.
        let now = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000))
        let server = try VirtualIdentityServer(clock: FakeClock(wall: now))
        let sensor = ScriptedSensor()
        try await self.firstRun(of: server, folder: folder, sensor: sensor)
        let next = CountersignSDK()
        try await openIdentities(of: next, by: [server.trusted], folder: folder, sensor: sensor, over: server)
        let identity = try #require(try next.personalizer.personalizedIdentities.first)
        #expect(identity.alias == "My phone")
        #expect(identity.enrolledFactors == [.device, .pin, .biometric])
        #expect(await server.activeActivations == [identity.activation])
        // The server that the guide names is one that an app can be configured with.
        let guide = CountersignSDK()
        try await openIdentities(
            of: guide, by: [identityServer], folder: folder + "-guide", sensor: sensor, over: NobodyAnswers())
        defer { try? FileManager.default.removeItem(atPath: folder + "-guide") }
        #expect(try guide.personalizer.personalizedIdentities.isEmpty)
    }

    /// The app until it is quit: its SDK is gone then, and lets go of the folder.
    private func firstRun(of server: VirtualIdentityServer, folder: String, sensor: ScriptedSensor) async throws {
        let sdk = CountersignSDK()
        let screens = ScriptedScreens(clock: nil)
        try await openIdentities(of: sdk, by: [server.trusted], folder: folder, sensor: sensor, over: server)
        await screens.type(pins: "824193")
        sensor.feel(.match)
        try await handle(try await server.activationCode(pin: "824193"), with: sdk, on: screens)
        #expect(await screens.shown == ["This phone is yours now."])
    }

    @Test("Personalise an app: a wrong PIN rests, and a second time the app is personalised already")
    func wrongPin() async throws {
        await self.screens.type(pins: "824194", "824193")
        let code = try await self.server.activationCode(pin: "824193")
        await #expect(throws: CountersignLockoutError.self) {
            try await handle(code, with: self.phone.sdk, on: self.screens)
        }
        self.clock.advance(by: .seconds(6))
        try await handle(code, with: self.phone.sdk, on: self.screens)
        #expect(await self.screens.shown == ["This phone is yours now."])
        await self.screens.type(pins: "970358")
        try await handle(
            try await self.server.activationCode(pin: "970358"), with: self.phone.sdk, on: self.screens)
        #expect(await self.screens.shown.last == "This phone is personalised already.")
    }

    @Test("Say what went wrong: what stops a button is said in words, with what to do")
    func wrongInWords() async throws {
        func scan(_ text: String) async {
            await press(on: self.screens) { try await handle(text, with: self.phone.sdk, on: self.screens) }
        }
        let activation = try await self.server.activationCode(pin: "824193")
        await scan(activation)
        await self.screens.type(pins: "824194")
        await scan(activation)
        await scan("https://evil.example/#no-code")
        self.clock.advance(by: .seconds(6))
        try await self.personalize(with: activation)
        let code = try await self.server.authenticationCode()
        for problem in [
            IdentityProblem(.securityInsufficient, reasons: ["rooted"]), IdentityProblem(.activationDisabled),
        ] {
            await self.server.refuseNext(problem)
            await scan(code)
        }
        await self.server.goDown(true)
        await scan(code)
        await press(on: self.screens) { throw OwnBackEnd.Refusal(error: "The back end says no.") }
        await press(on: self.screens) { throw TransportError(.unreachable, "nobody") }
        await press(on: self.screens) { throw CancellationError() }
        await press(on: self.screens) { throw StorageError(.inUse, "another process") }
        await press(on: self.screens) { throw URLError(.badURL) }
        #expect(
            await self.screens.shown == [
                "That was wrong, or something was before. Begin again in 5 seconds.",
                "That is not a code of this product. Begin again.",
                "This phone is yours now.", "This phone is not sound enough: rooted.",
                "This identity is not valid any more. Leave, and get a new activation.",
                "The server does not answer. Try again in a while.", "The back end says no.",
                "The app's own server does not answer. Try again in a while.", "This app is open already.",
                "Something went wrong. Begin again.",
            ])
        let logged = await self.screens.logged
        let wanted = ["malformedData", "activationDisabled", "connectionError", "unreachable", "inUse", "badURL"]
        #expect(logged.count == wanted.count)
        for (line, word) in zip(logged, wanted) where word != "badURL" { #expect(line.contains(word), "\(line)") }
    }

    /// The text that the kit's server has people agree to who take an invitation into their account.
    private static let invited = "\n\nYour identity takes this invitation:\nAddress: alice@work.example"

    @Test("Personalise an app: an invitation is taken into the account that there is, where the person wants that")
    func merged() async throws {
        try await self.personalize()
        await self.screens.type(pins: "970358", "970358", "824193")
        let invitation = try await self.server.activationCode(pin: "970358", mayMerge: true)
        let question = "Take this invitation into the account that this phone has?"
        await self.screens.refuse(question)
        try await handle(invitation, with: self.phone.sdk, on: self.screens)
        #expect(await self.screens.asked == ["The PIN of your activation", question])
        #expect(await self.server.requests.allSatisfy { !$0.url.path().contains("/sessions/") })
        await self.screens.forget()
        await self.screens.refuse(nil)
        try await handle(invitation, with: self.phone.sdk, on: self.screens)
        #expect(
            await self.screens.asked == [
                "The PIN of your activation", question,
                "Take the invitation into your account at Health Portal (https://health.example)?" + Self.invited,
                "Your PIN",
            ])
        #expect(await self.screens.shown == ["Done. The code of the invitation is void: throw it away."])
    }

    @Test("Authenticate: the role and the attribute that the person chose are what is agreed to and signed")
    func roleAndAttributes() async throws {
        try await self.personalize()
        await self.server.ask {
            $0.roles = [("p", "Patient", [["pin", "device"]]), ("d", "Doctor", [["pin", "device"]])]
            $0.attributes = [RequestedAttribute(.givenName), RequestedAttribute(.nickname, isRequired: false)]
        }
        await self.screens.choose(role: 1)
        await self.screens.refuse("The service can do without")
        await self.screens.type(names: "", String(repeating: "x", count: 200), "Ada")
        await self.screens.type(pins: "824193")
        try await self.signIn()
        #expect(
            await self.screens.asked == [
                "Patient or Doctor", "The service can do without your nickname. Tell it all the same?", "given name",
                "given name: Something has to stand here.", "given name: At most 128 letters.",
                "Sign in to Health Portal (https://health.example) as Doctor, and tell it your given name?",
                "Your PIN",
            ])
        #expect(await self.screens.shown == ["You are signed in to Health Portal."])
        #expect(await self.server.accepted.last == [.givenName: .value("Ada")])
        #expect(await self.screens.opened.isEmpty)
    }

    @Test("Authenticate: of several values the person's choice goes to the service, by its name alone")
    func choice() async throws {
        try await self.personalize()
        await self.server.ask {
            $0.attributes = [
                RequestedAttribute(
                    .givenName,
                    aliases: [
                        PersonalInformationAlias(id: "a1", alias: "Home", isPrimary: true),
                        PersonalInformationAlias(id: "a2", alias: "Work", isPrimary: false),
                    ])
            ]
            $0.text = "Order medicine"
        }
        await self.screens.type(pins: "824193")
        try await self.signIn()
        #expect(
            await self.screens.asked == [
                "given name: Home or Work",
                "Sign in to Health Portal (https://health.example) as Patient, and tell it your given name (Work)?"
                    + "\n\nOrder medicine", "Your PIN",
            ])
        #expect(await self.server.accepted.last == [.givenName: .alias(id: "a2")])
    }

    @Test("Authenticate: everything that goes along is in the sentence, also what nobody was asked for")
    func everything() async throws {
        try await self.personalize()
        await self.server.ask {
            $0.attributes = PersonalAttribute.allCases.map { attribute in
                let alias = PersonalInformationAlias(id: "a-\(attribute)", alias: "My \(attribute)", isPrimary: true)
                // What is optional, and not chosen, goes nowhere.
                return RequestedAttribute(attribute, isRequired: attribute != .gender, aliases: [alias])
            }
        }
        await self.screens.refuse("The service can do without")
        await self.screens.type(pins: "824193")
        try await self.signIn()
        let told = PersonalAttribute.allCases.filter { $0 != .gender }.map { "your \($0.englishName) (My \($0))" }
        #expect(told.starts(with: ["your user name (My username)", "your nickname (My nickname)"]))
        #expect(
            await self.screens.asked.dropFirst().first
                == "Sign in to Health Portal (https://health.example) as Patient, and tell it "
                + "\(told.joined(separator: ", "))?")
        #expect(
            await self.server.accepted.last
                == PersonalAttribute.allCases.filter { $0 != .gender }.reduce(into: [:]) {
                    $0[$1] = .alias(id: "a-\($1)")
                })
    }

    @Test("Authenticate: what it is for is said first", arguments: AuthenticationPurpose.allCases)
    func purposes(_ purpose: AuthenticationPurpose) async throws {
        try await self.personalize()
        await self.screens.refuse("")
        let personalizer = self.phone.sdk.personalizer
        let server = self.server.identifier
        let beginning: String
        switch purpose {
        case .userLogin:
            beginning = "Sign in to"
            try await self.signIn()
        case .serviceLogin:
            beginning = "Sign in to"
            let data = try await self.phone.sdk.authenticator.fetchInAppAuthenticationInitializationData(
                InAppAuthenticationRequest(
                    idmIdentifier: server, clientID: "app", redirectURI: "app:/back",
                    codeChallenge: String(repeating: "a", count: 43)))
            try await authenticate(data, with: self.phone.sdk, on: self.screens)
        case .addFactor:
            beginning = "Add your finger or your face at"
            let data = try await personalizer.startAddAuthenticationFactor(server)
            try await authenticate(data, with: self.phone.sdk, on: self.screens)
        case .changePin:
            beginning = "Change your PIN at"
            try await changePin(at: server, with: self.phone.sdk, on: self.screens)
        case .newActivation:
            beginning = "Set up another phone at"
            try await setUpAnotherPhone(at: server, with: self.phone.sdk, on: self.screens)
        case .delete:
            beginning = "Delete your account, for good, at"
            try await deleteAccount(at: server, with: self.phone.sdk, on: self.screens)
        case .merge:
            beginning = "Take the invitation into your account at"
            await self.screens.type(pins: "970358")
            await self.screens.refuse(beginning)
            try await handle(
                try await self.server.activationCode(pin: "970358", mayMerge: true), with: self.phone.sdk,
                on: self.screens)
        }
        // Whoever has begun it in the app itself comes in no role.
        let role = beginning == "Sign in to" ? " as Patient" : ""
        let told = purpose == .merge ? Self.invited : ""
        #expect(
            await self.screens.asked.last == "\(beginning) Health Portal (https://health.example)\(role)?\(told)")
        #expect(await self.server.ends == [.sessionAborted])
    }

    @Test("Authenticate: what the server finds wrong is typed again; what the app cannot give ends it")
    func correction() async throws {
        try await self.personalize()
        await self.server.ask { $0.attributes = [RequestedAttribute(.givenName)] }
        await self.server.findNext([.givenName: .invalid])
        await self.screens.type(names: "Ad", "Ada")
        await self.screens.type(pins: "824193")
        try await self.signIn()
        #expect(
            await self.screens.asked.prefix(2) == ["given name", "given name: The service does not take this."])
        #expect(await self.server.accepted.last == [.givenName: .value("Ada")])
        for attribute in [PersonalAttribute.email, .phoneNumber] {
            await self.server.ask { $0.attributes = [RequestedAttribute(attribute)] }
            try await self.signIn()
            let called = attribute.englishName
            #expect(
                await self.screens.shown.last
                    == "Add your \(called) at your account's page first.")
            #expect(await self.server.ends.last == .sessionAborted)
        }
        #expect(await self.server.accepted.count == 1)
    }

    @Test("Authenticate: all attributes are given, each in its own way, and told again where one is wrong")
    func allTwelve() async throws {
        try await self.personalize()
        await self.server.ask {
            $0.attributes = PersonalAttribute.allCases.map { RequestedAttribute($0, isSuppliable: true) }
        }
        await self.server.findNext([.familyName: .invalid, .birthdate: .invalid])
        // What is typed and asked beside the examples and the names of the attributes.
        let mistyped: [PersonalAttribute: [String]] = [
            .username: ["ada king", "ada"], .familyName: ["Kin"], .nationality: ["XX", "GB"],
            .email: ["ada@", "ada@example.org"], .phoneNumber: ["020", "+44 20 7946 0018"],
            .birthdate: [], .address: [], .gender: [],
        ]
        for text in PersonalAttribute.allCases.flatMap({ mistyped[$0] ?? [$0.example] }) + ["King"] {
            await self.screens.type(names: text)
        }
        await self.screens.choose(days: .distantFuture, Date(timeIntervalSince1970: 0), Self.birthdate)
        await self.screens.type(
            addresses: Address(street: "", postalCode: "SW1Y 4JH", city: "London", country: "GB"),
            Address(
                street: "St James's Square", houseNumber: "12", postalCode: "SW1Y 4JH", city: "London", country: "GB"))
        await self.screens.choose(genders: .female)
        await self.screens.type(pins: "824193")
        try await self.signIn()
        let faults: [PersonalAttribute: String] = [
            .username: "user name: Letters, digits and . _ - + @ alone.",
            .birthdate: "date of birth: Not after 2027-01-15.", .address: "address: The street is missing.",
            .nationality: "nationality: One of 249 countries, in two letters.",
            .email: "e-mail address: An address such as ada@example.org.",
            .phoneNumber: "telephone number: With the country's code, such as +49.",
        ]
        #expect(
            await self.screens.asked.dropLast(2)
                == PersonalAttribute.allCases.flatMap { [$0.englishName, faults[$0]].compactMap(\.self) } + [
                    "family name: The service does not take this.", "date of birth: The service does not take this.",
                ])
        var accepted = PersonalAttribute.allCases.reduce(into: [:]) { $0[$1] = AttributeAnswer.value($1.example) }
        accepted[.birthdate] = .value("2001-05-01")
        #expect(await self.server.accepted.last == accepted)
        #expect(await self.screens.shown == ["You are signed in to Health Portal."])
    }

    /// Noon of 1 May 2001, by the calendar of wherever this runs.
    private static var birthdate: Date {
        var day = DateComponents()
        (day.year, day.month, day.day, day.hour) = (2001, 5, 1, 12)
        return Calendar(identifier: .gregorian).date(from: day) ?? .distantPast
    }

    @Test("Authenticate: who has agreed to give what is optional, and thinks better of it, does not give it")
    func withdrawn() async throws {
        try await self.personalize()
        await self.server.ask {
            let home = PersonalInformationAlias(id: "a1", alias: "Home", isPrimary: true)
            $0.attributes = [
                RequestedAttribute(.nickname, isRequired: false, aliases: [home]),
                RequestedAttribute(.givenName, aliases: [home]),
            ]
        }
        await self.screens.type(pins: "824193", "824193")
        try await self.signIn()
        #expect(await self.server.accepted.last == [.nickname: .alias(id: "a1"), .givenName: .alias(id: "a1")])
        await self.server.findNext([.nickname: .noAliasSelected])
        let question = "The service can do without your nickname. Tell it all the same?"
        await self.screens.refuseFromNow(on: question, after: 1)
        await self.screens.forget()
        try await self.signIn()
        #expect(await self.screens.asked.prefix(2) == [question, question])
        #expect(await self.server.accepted.last == [.givenName: .alias(id: "a1")])
    }

    @Test("Authenticate: a no is a no, and the page hears of it") func refused() async throws {
        try await self.personalize()
        await self.screens.refuse("Sign in to")
        await self.screens.type(pins: "824193")
        try await self.signIn()
        #expect(await self.server.accepted.isEmpty)
        #expect(await self.server.ends == [.sessionAborted])
        #expect(await self.screens.asked.count == 1)
    }

    @Test("Finish: a lockout is waited out, and signed again; one for good is told") func lockout() async throws {
        try await self.personalize()
        await self.screens.type(pins: "000000", "000001", "824193")
        try await self.signIn()
        #expect(
            await self.screens.shown == [
                "Something was wrong. Try again in 5 seconds.", "Something was wrong. Try again in 15 seconds.",
                "You are signed in to Health Portal.",
            ])
        #expect(await self.screens.waits == [.seconds(5), .seconds(15)])
        await self.server.allow(attempts: 1)
        await self.screens.type(pins: "000000")
        try await self.signIn()
        #expect(await self.screens.shown.last == "This phone is locked. Get a new activation.")
        // Its place is free: another activation makes the phone the person's again.
        #expect(try self.phone.sdk.personalizer.personalizedIdentities.isEmpty)
        await self.server.allow(attempts: 10)
        try await self.personalize()
        await self.screens.type(pins: "824193")
        try await self.signIn()
        #expect(await self.screens.shown == ["You are signed in to Health Portal."])
    }

    @Test("Finish: a finger is added by the listings, signs from then on, and is not added twice")
    func addedFinger() async throws {
        let sensor = ScriptedSensor(enrolledSet: nil)
        let phone = try await VirtualIdentityPhone(server: self.server, sensor: sensor)
        await self.screens.type(pins: "824193", "824193")
        try await handle(
            try await self.server.activationCode(pin: "824193"), with: phone.sdk, on: self.screens)
        // Somebody's finger is enrolled with the operating system by now.
        sensor.enroll(Array("enrolled".utf8))
        sensor.feel(.match)
        try await addFinger(at: self.server.identifier, with: phone.sdk, on: self.screens)
        #expect(await self.screens.shown == ["This phone is yours now.", "Your finger signs from now on."])
        let activation = try phone.sdk.personalizer.personalizedIdentities[0].activation
        #expect(await self.server.finger(of: activation) != nil)
        #expect(try identities(of: phone.sdk).map(\.signsBy) == [["biometric", "device", "pin"]])
        await self.server.ask { $0.roles = [("a", "A", [["biometric", "device"]])] }
        sensor.feel(.match)
        try await handle(try await self.server.authenticationCode(), with: phone.sdk, on: self.screens)
        #expect(await self.screens.shown.last == "You are signed in to Health Portal.")
        let error = await #expect(throws: CountersignError.self) {
            try await addFinger(at: self.server.identifier, with: phone.sdk, on: self.screens)
        }
        #expect(error?.errorCode == .factorAlreadyEnrolled)
    }

    @Test("Take more time: a screen has more until the hard end, and none after it") func prolonged() async throws {
        try await self.personalize()
        let data = try self.phone.authenticationData(try await self.server.authenticationCode())
        let request = try await self.phone.sdk.authenticator.startAuthentication(data: data)
        let first = request.identitySession.nextRequestUntil
        self.clock.advance(by: .seconds(170))
        #expect(try await prolong(request, with: self.phone.sdk))
        #expect(request.identitySession.nextRequestUntil == first + 170)
        self.clock.advance(by: .seconds(170))
        #expect(try await prolong(request, with: self.phone.sdk))
        self.clock.advance(by: .seconds(170))
        #expect(try await prolong(request, with: self.phone.sdk))
        self.clock.advance(by: .seconds(170))
        #expect(try await prolong(request, with: self.phone.sdk))
        self.clock.advance(by: .seconds(170))
        #expect(try await prolong(request, with: self.phone.sdk))
        #expect(request.identitySession.nextRequestUntil == request.identitySession.lastRequestBefore)
        #expect(try await !prolong(request, with: self.phone.sdk))
    }

    @Test(
        "Leave, or have several: an identity is taken off the phone after a question, and that of another server stays")
    func left() async throws {
        let other = try VirtualIdentityServer(identifier: "https://other.example", clock: self.clock)
        let sdk = CountersignSDK()
        var configuration = IdentityConfiguration(servers: [self.server.trusted, other.trusted])
        configuration.facetID = "linux:program:test"
        try await sdk.initialize(
            configuration, platform: DevicePlatform(storage: InMemoryStorage(), clock: self.clock),
            transport: ByHost(servers: [self.server, other]))
        await self.screens.type(pins: "824193", "970358", "970358")
        try await handle(try await self.server.activationCode(pin: "824193"), with: sdk, on: self.screens)
        try await handle(try await other.activationCode(pin: "970358"), with: sdk, on: self.screens)
        #expect(try identities(of: sdk).map(\.server) == ["https://id.example", "https://other.example"])
        #expect(try identities(of: sdk).map(\.name) == ["My phone", "My phone"])
        await self.screens.refuse("Take your identity off")
        try await leave(self.server.identifier, with: sdk, on: self.screens)
        #expect(try identities(of: sdk).count == 2)
        await self.screens.refuse(nil)
        try await leave(self.server.identifier, with: sdk, on: self.screens)
        #expect(await self.screens.shown.last == "This phone is nobody's now.")
        #expect(try identities(of: sdk).map(\.server) == ["https://other.example"])
        #expect(await self.server.activeActivations.isEmpty)
        try await handle(try await other.authenticationCode(), with: sdk, on: self.screens)
        #expect(await other.accepted.count == 1)
    }

    @Test(
        "Finish: the PIN is changed by the listings, one that is too simple is not taken, and the old one is wrong then"
    )
    func changedPin() async throws {
        try await self.personalize()
        await self.screens.type(pins: "824193", "123456", "824193", "970358")
        try await changePin(at: self.server.identifier, with: self.phone.sdk, on: self.screens)
        #expect(
            await self.screens.shown == [
                "That PIN is not taken. A date, digits in a row and what repeats are tried first by whoever finds the phone.",
                "That PIN is not taken. It is the one that you have.", "Your PIN is changed.",
            ])
        await self.screens.forget()
        await self.screens.type(pins: "824193", "970358")
        try await self.signIn()
        #expect(
            await self.screens.shown == [
                "Something was wrong. Try again in 5 seconds.", "You are signed in to Health Portal.",
            ])
    }

    @Test("Take up a code: who has not begun it says so, and nothing was sent; who says yes to a stolen one is safe")
    func hostileLink() async throws {
        try await self.personalize()
        let link = "https://id.example/open#" + (try await self.server.authenticationCode())
        let sent = await self.server.requests.count
        await self.screens.refuse("This came in a link.")
        try await handle(link, with: self.phone.sdk, on: self.screens)
        #expect(await self.screens.asked == ["This came in a link. Did you begin it yourself, a moment ago?"])
        #expect(await self.server.requests.count == sent)
        // Somebody was talked into it: the code was made to be scanned from a page, and somebody else sits before that.
        let trusting = ScriptedScreens(clock: self.clock)
        await trusting.type(pins: "824193")
        let error = await #expect(throws: CountersignError.self) {
            try await handle(link, with: self.phone.sdk, on: trusting)
        }
        #expect(error?.errorCode == .codeCameByLink)
        #expect(await self.server.ends == [.sessionAborted])
        #expect(await self.server.accepted.isEmpty)
        // A letter of it changed, it is refused on the phone.
        let changed = link.replacing("#e", with: "#f")
        #expect(changed != link)
        let before = await self.server.requests.count
        let broken = await #expect(throws: CountersignError.self) {
            try await handle(changed, with: self.phone.sdk, on: trusting)
        }
        #expect(broken?.errorCode == .malformedData)
        #expect(await self.server.requests.count == before)
    }

    @Test("Finish: begun by a link on the same phone, the browser is opened again") func sameDevice() async throws {
        try await self.personalize()
        await self.server.ask { $0.isForLinks = true }
        await self.screens.type(pins: "824193")
        let link = "https://id.example/open#" + (try await self.server.authenticationCode())
        try await handle(link, with: self.phone.sdk, on: self.screens)
        #expect(await self.screens.shown == ["You are signed in to Health Portal."])
        #expect(await self.screens.opened.map(\.absoluteString) == ["https://health.example/back"])
    }

    @Test("Sign: what this phone lacks is told, and the process is given up") func lacking() async throws {
        try await self.personalize()
        await self.server.ask { $0.roles = [("a", "A", [["biometric", "device"]])] }
        try await self.signIn()
        #expect(await self.screens.shown == ["This phone cannot sign that: it lacks biometric."])
        #expect(await self.server.ends == [.sessionAborted])
    }

    @Test("Finish: another phone is given an activation, and an account is deleted after one more question")
    func otherResults() async throws {
        try await self.personalize()
        let personalizer = self.phone.sdk.personalizer
        await self.screens.type(pins: "824193", "735041")
        let activation = try await personalizer.startRequestNewActivationData(idmIdentifier: self.server.identifier)
        try await authenticate(activation, with: self.phone.sdk, on: self.screens)
        let other = try await VirtualIdentityPhone(server: self.server, sensor: ScriptedSensor(enrolledSet: nil))
        let code = try #require(await self.screens.shown.last)
        await self.screens.type(pins: "735041")
        try await handle(code, with: other.sdk, on: self.screens)
        #expect(await self.server.activeActivations.count == 2)
        await self.screens.refuse("Delete the account")
        await self.screens.type(pins: "824193")
        try await authenticate(
            try await personalizer.startDeletion(idmIdentifier: self.server.identifier), with: self.phone.sdk,
            on: self.screens)
        #expect(await self.screens.asked.last == "Delete the account for good?")
        #expect(try personalizer.personalizedIdentities.count == 1)
        #expect(await self.server.activeActivations.count == 2)
        await self.screens.refuse(nil)
        await self.screens.type(pins: "824193")
        try await authenticate(
            try await personalizer.startDeletion(idmIdentifier: self.server.identifier), with: self.phone.sdk,
            on: self.screens)
        #expect(try personalizer.personalizedIdentities.isEmpty)
        let left = try other.sdk.personalizer.personalizedIdentities.map(\.activation)
        #expect(await self.server.activeActivations == left)
    }

    @Test("Look at the device: what is found is shown, and so is that nobody can look") func watched() async throws {
        struct Inspection: SecurityInspection {
            func inspect() -> SecurityFindings {
                SecurityFindings(checkVersion: 1, osVersion: "Test 1", isRooted: true, isHooked: false)
            }
        }
        await watchDevice(isActive: false, with: CountersignSDK(), on: self.screens)
        #expect(await self.screens.shown.isEmpty)
        await watchDevice(isActive: true, with: self.phone.sdk, on: self.screens)
        #expect(await self.screens.shown == ["Nobody can tell whether this phone is sound."])
        let rooted = try await VirtualIdentityPhone(server: self.server) { $0.securityInspection = Inspection() }
        let screens = ScriptedScreens(clock: self.clock)
        let watch = Task { await watchDevice(isActive: true, with: rooted.sdk, on: screens) }
        await self.clock.untilSleeping()
        watch.cancel()
        await watch.value
        #expect(await screens.shown == ["Somebody has changed this phone."])
    }
}

/// A network with several servers.
private struct ByHost: Transport {
    let servers: [VirtualIdentityServer]

    func send(_ request: TransportRequest) async throws -> TransportResponse {
        let server = self.servers.first { URL(string: $0.identifier)?.host() == request.url.host() }
        guard let server else { throw TransportError(.unreachable, "nobody") }
        return try await server.send(request)
    }
}

/// No network.
private struct NobodyAnswers: Transport {
    func send(_ request: TransportRequest) async throws -> TransportResponse {
        throw TransportError(.unreachable, "nobody")
    }
}
