import Ceremony
import Countersign
import CountersignBackend
import CountersignTestKit
import Foundation
import PersonalInformation
import Testing
import UAFClient

@testable import TownHallApp

@Suite("Decision 65: the town hall's app, button by button") struct TownHallAppTests {
    private let clock = FakeClock()
    private let server: VirtualIdentityServer
    private let phone: VirtualIdentityPhone
    private let screen: Screen
    private let townHall: TownHall
    private let app: TownHallApp

    private static let home = PersonalInformationAlias(id: "a1", alias: "Home", isPrimary: false)
    private static let work = PersonalInformationAlias(id: "a2", alias: "Work", isPrimary: true)
    private static let somewhere = "You are signed in to Town Hall as Resident."
    private static let gaveUp = "You gave up, and nothing was done."

    init() async throws {
        self.server = try VirtualIdentityServer(clock: self.clock)
        self.phone = try await VirtualIdentityPhone(server: self.server, sensor: ScriptedSensor(enrolledSet: nil))
        self.screen = Screen(clock: self.clock)
        self.townHall = TownHall(server: self.server)
        self.app = Self.app(self.phone, self.screen, self.townHall)
        await self.server.register(clientID: "town-app", secret: "s3cret", redirectURI: "https://town.example/app")
        await self.server.ask {
            $0.name = "Town Hall"
            $0.origin = "https://town.example"
            $0.roles = [("resident", "Resident", [["pin", "device"]])]
        }
    }

    private static func app(
        _ phone: VirtualIdentityPhone, _ screen: Screen, _ backEnd: (any Transport)?
    ) -> TownHallApp {
        let address = URL(string: "https://town.example")
        return TownHallApp(
            sdk: phone.sdk, screen: screen, server: phone.server.identifier,
            backEnd: backEnd.flatMap { transport in
                address.map { TownHallBackEnd(address: $0, transport: transport) }
            })
    }

    private func personalize(_ app: TownHallApp? = nil, pin: String = "824193") async throws {
        await self.screen.type(pins: pin)
        await self.screen.type(lines: "My phone")
        await (app ?? self.app).codeOpened(try await self.server.activationCode(pin: pin))
        await self.screen.forget()
    }

    /// Opens the code of a page, with the right PIN.
    private func signInElsewhere() async throws {
        await self.screen.type(pins: "824193")
        await self.app.codeOpened(try await self.server.authenticationCode())
    }

    // MARK: Becoming somebody's

    @Test(
        "it is nobody's, is personalised by a code and the PIN that came another way, and lists that after its next start"
    )
    func personalized() async throws {
        await self.app.appOpens()
        #expect(await self.screen.said == ["[Nobody's yet: open the code of an activation]"])
        await self.screen.type(pins: "824193")
        await self.screen.type(lines: "Ada's phone")
        await self.app.codeOpened(try await self.server.activationCode(pin: "824193"))
        #expect(await self.screen.said.last == "This phone is yours now. The PIN of the activation stays your PIN.")
        #expect(
            await self.screen.asked == [
                "The PIN that came with the activation, another way",
                "What is this phone to be called? Nothing: Town hall app",
            ])
        await Self.app(try await self.phone.restarted(), self.screen, nil).appOpens()
        #expect(
            await self.screen.said.last == "[Ada's phone at https://id.example, signs with this phone and the PIN]")
        await self.screen.type(pins: "970358")
        await self.app.codeOpened(try await self.server.activationCode(pin: "970358"))
        #expect(await self.screen.said.last == "This phone has an identity of that server already.")
    }

    @Test("a wrong PIN of the activation rests until a moment that is told, and is typed again then, or not")
    func wrongActivationPin() async throws {
        let code = try await self.server.activationCode(pin: "824193")
        let start = Date(timeIntervalSince1970: TimeInterval(self.clock.now().seconds))
        await self.screen.type(pins: "000000", "000001", "824193")
        await self.screen.type(lines: "")
        await self.app.codeOpened(code)
        #expect(await self.screen.waits == [.seconds(5), .seconds(15)])
        #expect(
            await self.screen.said == [
                "That was wrong, or something was before. Nothing is judged until \(text(of: start + 5)).",
                "That was wrong, or something was before. Nothing is judged until \(text(of: start + 20)).",
                "This phone is yours now. The PIN of the activation stays your PIN.",
            ])
        let other = try await VirtualIdentityPhone(server: self.server, sensor: ScriptedSensor(enrolledSet: nil))
        await self.screen.refuse("Wait, and try again in 5 seconds?")
        await self.screen.type(pins: "000000")
        await Self.app(other, self.screen, nil).codeOpened(try await self.server.activationCode(pin: "824193"))
        #expect(await self.screen.said.last == Self.gaveUp)
        #expect(try other.sdk.personalizer.personalizedIdentities.isEmpty)
    }

    @Test("what somebody has changed, made up or sent is refused on the phone, and nothing is sent", arguments: 0..<6)
    func hostileCodes(_ kind: Int) async throws {
        let code = try await self.server.activationCode(pin: "824193")
        let impostor = try VirtualIdentityServer(identifier: self.server.identifier, clock: self.clock)
        let stranger = try VirtualIdentityServer(identifier: "https://evil.example", clock: self.clock)
        // Of the signed part, of the signature and of the secret each another letter; and somebody else's codes.
        let (text, sentence): (String, String) =
            switch kind {
            case 0: (Self.changed(code, at: 0.3), "")
            case 1: (Self.changed(code, at: 0.6), "")
            case 2: (Self.changed(code, at: 0.95), "")
            case 3:
                (
                    try await impostor.activationCode(pin: "824193"),
                    "The server's identity does not hold. Somebody may be in between: try again elsewhere, and report it."
                )
            case 4: (try await stranger.activationCode(pin: "824193"), "This app does not know that server.")
            default: ("https://town.example/", "That is not a code of this product. Begin again.")
            }
        let before = await self.server.requests.count
        await self.screen.type(pins: "824193")
        await self.app.codeOpened(text)
        #expect(await self.server.requests.count == before)
        #expect(await self.screen.asked.isEmpty)
        #expect(await self.screen.said.count == 1)
        if !sentence.isEmpty { #expect(await self.screen.said == [sentence]) }
        #expect(try self.phone.sdk.personalizer.personalizedIdentities.isEmpty)
    }

    private static func changed(_ code: String, at part: Double) -> String {
        var letters = Array(code)
        let index = Int(Double(letters.count) * part)
        letters[index] = letters[index] == "A" ? "B" : "A"
        return String(letters)
    }

    @Test("what came in a link is taken up by whoever began it; one that was made to be scanned by nobody")
    func links() async throws {
        try await self.personalize()
        let link = "https://id.example/open#" + (try await self.server.authenticationCode())
        let before = await self.server.requests.count
        await self.screen.refuse("This came in a link.")
        await self.app.codeOpened(link)
        #expect(await self.server.requests.count == before)
        #expect(await self.screen.said == [Self.gaveUp])
        await self.screen.refuse(nil)
        await self.app.codeOpened(link)
        #expect(
            await self.screen.said.last
                == "This code is for scanning, and came in a link. Nobody was signed in.")
        #expect(await self.server.accepted.isEmpty)
        await self.server.ask { $0.isForLinks = true }
        await self.screen.type(pins: "824193")
        await self.app.codeOpened("https://id.example/open#" + (try await self.server.authenticationCode()))
        #expect(await self.screen.said.last == Self.somewhere)
        #expect(await self.screen.opened.map(\.absoluteString) == ["https://town.example/back"])
    }

    // MARK: Confirming

    @Test("role, way to sign, alias and attributes are chosen and confirmed, and what is optional goes only with a yes")
    func confirms() async throws {
        let sensor = ScriptedSensor()
        let phone = try await VirtualIdentityPhone(server: self.server, sensor: sensor)
        let app = Self.app(phone, self.screen, nil)
        sensor.feel(.match)
        try await self.personalize(app)
        await self.server.ask {
            $0.roles = [
                ("resident", "Resident", [["pin", "device"]]),
                ("official", "Official", [["biometric", "device"], ["pin", "device"]]),
            ]
            $0.attributes = [
                RequestedAttribute(.nickname, isRequired: false, aliases: [Self.home]),
                RequestedAttribute(.givenName, aliases: [Self.home, Self.work]),
                RequestedAttribute(.email, aliases: [Self.home]),
            ]
            $0.text = "Move to Lantern Street"
        }
        await self.screen.choose(1, 1, 1)
        await self.screen.type(pins: "824193")
        await self.screen.refuse("The service can do without your nickname.")
        await app.codeOpened(try await self.server.authenticationCode())
        #expect(
            await self.screen.asked == [
                "As what do you come? | Resident, signing with the PIN and this phone"
                    + " | Official, signing with a finger and this phone, or the PIN and this phone",
                "The service can do without your nickname. Tell it all the same?",
                "Which of them is to be your given name? | Work | Home",
                "The service needs your e-mail address (Home). Tell it?",
                "Sign in to Town Hall (https://town.example) as Official, and tell it your given name (Home),"
                    + " your e-mail address (Home)?\n\nMove to Lantern Street",
                "How do you sign? | a finger and this phone | the PIN and this phone", "Your PIN",
            ])
        #expect(await self.screen.said == ["You are signed in to Town Hall as Official."])
        // The nickname is not among them.
        #expect(await self.server.accepted == [[.givenName: .alias(id: "a1"), .email: .alias(id: "a1")]])
        await self.screen.refuse(nil)
        // With the finger, and a yes to everything.
        await self.screen.choose(1, 0, 0)
        sensor.feel(.match)
        await app.codeOpened(try await self.server.authenticationCode())
        #expect(await self.server.accepted.last?[.nickname] == .alias(id: "a1"))
        // Asked once more, because the server did not take it, the person thinks better of it.
        await self.server.findNext([.nickname: .noAliasSelected])
        await self.screen.refuse("The service can do without your nickname.", after: 1)
        await self.screen.choose(1, 0, 0)
        sensor.feel(.match)
        await app.codeOpened(try await self.server.authenticationCode())
        #expect(await self.server.accepted.count == 3)
        #expect(await self.server.accepted.last == [.givenName: .alias(id: "a2"), .email: .alias(id: "a1")])
    }

    @Test(
        "a no to what is needed, or to the whole, ends it, and the page hears of it",
        arguments: ["The service needs", "Sign in to"])
    func refuses(_ question: String) async throws {
        try await self.personalize()
        await self.server.ask { $0.attributes = [RequestedAttribute(.email, aliases: [Self.home])] }
        await self.screen.refuse(question)
        try await self.signInElsewhere()
        #expect(await self.server.accepted.isEmpty)
        #expect(await self.server.ends == [.sessionAborted])
        #expect(await self.screen.said.count == 1)
        #expect(await self.screen.said.last?.hasSuffix("othing was done.") == true)
    }

    @Test("all attributes can be typed, each by its rule, and what the server does not take is asked for again")
    func types() async throws {
        try await self.personalize()
        await self.server.ask {
            $0.attributes = PersonalAttribute.allCases.map { RequestedAttribute($0, isSuppliable: true) }
        }
        await self.server.findNext([.familyName: .invalid])
        let mistyped: [PersonalAttribute: [String]] = [
            .username: ["ada king", "ada"], .familyName: ["Kin"],
            .birthdate: ["31.05.2001", "2001-02-30", "2031-05-31", "2001-05-31"],
            .address: ["St James's Square 12", "St James's Square; 12; SW1Y 4JH; London; GB"],
            .nationality: ["XX", "GB"], .gender: ["woman", "female"], .email: ["ada@", "ada@example.org"],
            .phoneNumber: ["020", "+44 20 7946 0018"],
        ]
        for text in PersonalAttribute.allCases.flatMap({ mistyped[$0] ?? [$0.example] }) + ["King"] {
            await self.screen.type(lines: text)
        }
        try await self.signInElsewhere()
        #expect(
            await self.server.accepted.last
                == PersonalAttribute.allCases.reduce(into: [:]) { $0[$1] = .value($1.example) })
        let asked = await self.screen.asked
        #expect(asked.filter { $0.hasPrefix("That is none. your date of birth: such as 2001-05-31;") }.count == 3)
        #expect(
            asked.dropLast(2).last
                == "The service does not take that. your family name: 1 to 128 letters; nothing to give up")
    }

    @Test("what somebody has to verify first ends a sign-in that needs it, and one that does not goes on without")
    func notSuppliable() async throws {
        try await self.personalize()
        await self.server.ask { $0.attributes = [RequestedAttribute(.email)] }
        try await self.signInElsewhere()
        let sentence = "Add your e-mail address at your account's page first."
        #expect(await self.screen.said == [sentence])
        #expect(await self.server.ends == [.sessionAborted])
        await self.server.ask { $0.attributes = [RequestedAttribute(.email, isRequired: false)] }
        try await self.signInElsewhere()
        #expect(await self.screen.said.suffix(2) == [sentence, Self.somewhere])
        #expect(await self.server.accepted == [[:]])
        // Nothing is typed: whoever gives up tells nothing.
        await self.server.ask { $0.attributes = [RequestedAttribute(.givenName)] }
        await self.screen.type(lines: "")
        try await self.signInElsewhere()
        #expect(await self.server.accepted.count == 1)
        #expect(await self.screen.said.last == Self.gaveUp)
    }

    @Test("what this phone lacks is told") func lacks() async throws {
        try await self.personalize()
        await self.server.ask { $0.roles = [("resident", "Resident", [["biometric", "device"]])] }
        try await self.signInElsewhere()
        #expect(await self.screen.said == ["This phone cannot sign that: it lacks a finger."])
        #expect(await self.server.ends == [.sessionAborted])
    }

    // MARK: The eight results

    @Test("wrong PINs rest until a moment that is told, and everything is signed again; for good the phone is free")
    func lockout() async throws {
        try await self.personalize()
        let start = Date(timeIntervalSince1970: TimeInterval(self.clock.now().seconds))
        await self.screen.type(pins: "000000", "000001")
        try await self.signInElsewhere()
        #expect(
            await self.screen.said == [
                "That was wrong, or something was before. Nothing is judged until \(text(of: start + 5)).",
                "That was wrong, or something was before. Nothing is judged until \(text(of: start + 20)).",
                Self.somewhere,
            ])
        #expect(await self.screen.waits == [.seconds(5), .seconds(15)])
        // Whoever does not wait has given up; what is begun meanwhile waits for the rest of the rest.
        await self.screen.refuse("Wait")
        await self.screen.type(pins: "000000")
        await self.app.codeOpened(try await self.server.authenticationCode())
        #expect(await self.screen.said.last == Self.gaveUp)
        #expect(await self.server.accepted.count == 1)
        self.clock.advance(by: .seconds(2))
        await self.screen.refuse(nil)
        try await self.signInElsewhere()
        #expect(await self.screen.waits.last == .seconds(3))
        #expect(await self.screen.said.last == Self.somewhere)
        await self.server.allow(attempts: 1)
        await self.screen.type(pins: "000000")
        await self.app.codeOpened(try await self.server.authenticationCode())
        #expect(
            await self.screen.said.last
                == "That was wrong too often. This phone is locked for good: get a new activation.")
        #expect(try self.phone.sdk.personalizer.personalizedIdentities.isEmpty)
    }

    @Test("the PIN is changed, where the server's answer is lost as well, and the one of before is none any more")
    func changesPin() async throws {
        try await self.personalize()
        await self.screen.type(pins: "824193", "12", "123456", "824193", "970358")
        await self.server.letPass(4)
        await self.server.loseAnswers(2)
        await self.app.guarded { try await $0.startChangePin(idmIdentifier: $1) }
        #expect(
            await self.screen.said == [
                "It has to have 5 to 32 digits.", "Whoever finds the phone tries that one first.",
                "That is the PIN that you have.", "Your PIN is changed.",
            ])
        #expect(await self.screen.asked.last == "The server does not answer. Ask it again?")
        await self.screen.type(pins: "824193", "970358")
        await self.app.codeOpened(try await self.server.authenticationCode())
        #expect(await self.screen.said.suffix(2).first?.hasPrefix("That was wrong") == true)
        #expect(await self.screen.said.last == Self.somewhere)
    }

    @Test("a finger is added and signs; whoever withholds it has given up") func addsFinger() async throws {
        let sensor = ScriptedSensor(enrolledSet: nil)
        let phone = try await VirtualIdentityPhone(server: self.server, sensor: sensor)
        let app = Self.app(phone, self.screen, nil)
        try await self.personalize(app)
        sensor.enroll(Array("enrolled".utf8))
        await self.screen.type(pins: "824193", "824193")
        sensor.feel(.cancelled)
        await app.guarded { try await $0.startAddAuthenticationFactor($1) }
        #expect(await self.screen.said.last?.hasPrefix("The finger or the face was not recognised.") == true)
        sensor.feel(.match)
        await app.guarded { try await $0.startAddAuthenticationFactor($1) }
        #expect(await self.screen.said.last == "Your finger signs from now on.")
        await self.server.ask { $0.roles = [("resident", "Resident", [["biometric", "device"]])] }
        sensor.feel(.match)
        await app.codeOpened(try await self.server.authenticationCode())
        #expect(await self.screen.said.last == Self.somewhere)
        await app.guarded { try await $0.startAddAuthenticationFactor($1) }
        #expect(await self.screen.said.last == "This identity has such a factor already.")
    }

    @Test("another phone is given a code that makes it the person's, and an account is deleted after one more question")
    func newPhoneAndDeletion() async throws {
        try await self.personalize()
        await self.screen.type(pins: "824193", "735041")
        await self.screen.type(lines: "Tablet")
        await self.app.guarded { try await $0.startRequestNewActivationData(idmIdentifier: $1) }
        let lines = try #require(await self.screen.said.last?.split(separator: "\n"))
        #expect(lines.count == 2)
        let other = try await VirtualIdentityPhone(server: self.server, sensor: ScriptedSensor(enrolledSet: nil))
        await self.screen.type(pins: "735041")
        await self.screen.type(lines: "")
        await Self.app(other, self.screen, nil).codeOpened(String(lines[1]))
        #expect(await self.server.activeActivations.count == 2)
        await self.screen.refuse("Once more: delete")
        await self.screen.type(pins: "824193", "824193")
        await self.app.guarded { try await $0.startDeletion(idmIdentifier: $1) }
        #expect(await self.screen.said.last == Self.gaveUp)
        #expect(await self.server.ends.last == .sessionAborted)
        await self.screen.refuse(nil)
        await self.app.guarded { try await $0.startDeletion(idmIdentifier: $1) }
        #expect(await self.screen.said.last == "The account is deleted.")
        await self.app.guarded { try await $0.startDeletion(idmIdentifier: $1) }
        #expect(
            await self.screen.said.last
                == "This app has no identity of that server. Open the code of an activation.")
    }

    @Test("an invitation is taken into the account that there is, after a question") func merges() async throws {
        try await self.personalize()
        await self.screen.type(pins: "970358", "970358", "824193")
        let invitation = try await self.server.activationCode(pin: "970358", mayMerge: true)
        await self.screen.refuse("Take this invitation")
        await self.app.codeOpened(invitation)
        #expect(await self.screen.said == [Self.gaveUp])
        await self.screen.refuse(nil)
        await self.app.codeOpened(invitation)
        #expect(
            await self.screen.said.last == "The invitation is part of your account. Its code is void: throw it away.")
    }

    @Test("an identity is taken off the phone after a question, and its account stays") func leaves() async throws {
        try await self.personalize()
        await self.screen.refuse("Take your identity off")
        await self.app.leaveTapped()
        #expect(try self.phone.sdk.personalizer.personalizedIdentities.count == 1)
        await self.screen.refuse(nil)
        await self.app.leaveTapped()
        #expect(await self.screen.said == [Self.gaveUp, "This phone is nobody's now."])
        #expect(try self.phone.sdk.personalizer.personalizedIdentities.isEmpty)
        #expect(await self.server.activeActivations.isEmpty)
    }

    // MARK: The back end

    @Test("it signs in to its back end, which gets to know who it is and greets them") func backEnd() async throws {
        try await self.personalize()
        await self.server.ask { $0.attributes = [RequestedAttribute(.givenName)] }
        await self.screen.type(lines: "Ada")
        await self.screen.type(pins: "824193")
        await self.app.signInTapped()
        #expect(await self.screen.said == ["The town hall says: Hello, Ada!"])
        let person = try #require(await self.townHall.people.first)
        #expect(person.roles == ["resident"])
        #expect(person.attributes == [.givenName: "Ada"])
        // Whoever gives up brings nothing.
        await self.screen.refuse("Sign in to")
        await self.screen.type(lines: "Ada")
        await self.app.signInTapped()
        #expect(await self.screen.said.last == Self.gaveUp)
        #expect(await self.townHall.people.count == 1)
    }

    @Test(
        "without a back end, with one that is away and with one that mixes up people nobody is signed in, and it says so"
    )
    func noBackEnd() async throws {
        try await self.personalize()
        await Self.app(self.phone, self.screen, nil).signInTapped()
        #expect(
            await self.screen.said.last == "This app was given no back end, and nobody else can use its code.")
        await Self.app(self.phone, self.screen, NobodyAnswers()).signInTapped()
        #expect(await self.screen.said.last == "The town hall does not answer. Try again later.")
        #expect(await self.screen.asked.isEmpty)
        await self.townHall.mixUp()
        await self.screen.type(pins: "824193")
        await self.app.signInTapped()
        #expect(await self.screen.said.last == "This sign-in is over. Begin again.")
        #expect(await self.townHall.people.isEmpty)
    }

    // MARK: A server that is none

    @Test("what somebody else has signed on the way is not believed, and nobody is signed in") func forgedAnswers()
        async throws
    {
        try await self.personalize()
        let code = try await self.server.authenticationCode()
        await self.server.damage { response in
            // Another letter in the signature, which is the last part.
            var body = response.body
            let index = body.count - 20
            body[index] = body[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            return TransportResponse(status: response.status, headers: response.headers, body: body)
        }
        await self.screen.type(pins: "824193")
        await self.app.codeOpened(code)
        #expect(
            await self.screen.said == [
                "The server's identity does not hold. Somebody may be in between: try again elsewhere, and report it."
            ])
        #expect(await self.screen.asked.isEmpty)
        #expect(await self.server.accepted.isEmpty)
    }

    @Test("without a network it says so, and a device that is not sound enough learns in what") func troubles()
        async throws
    {
        try await self.personalize()
        let code = try await self.server.authenticationCode()
        await self.server.goDown(true)
        await self.app.codeOpened(code)
        #expect(await self.screen.said.last == "The server does not answer. Begin again.")
        await self.server.goDown(false)
        await self.server.refuseNext(IdentityProblem(.securityInsufficient, reasons: ["rooted", "hooked"]))
        await self.app.codeOpened(code)
        #expect(await self.screen.said.last == "This device is not sound enough. rooted, hooked")
        await self.server.refuseNext(IdentityProblem(.activationDisabled))
        await self.app.codeOpened(code)
        #expect(
            await self.screen.said.last
                == "This identity is not valid any more. "
                + "Take your identity off this phone (leave), and open the code of a new activation.")
    }
}
