import Ceremony
import CeremonyEngine
import Foundation
import PersonalInformation
import Records
import SQLStore
import Settings
import Testing
import UAF
import _Primitives

@Suite("Sessions of identities: what services want to know of a person")
struct IdentityAttributeTests {
    private func add(
        _ attribute: PersonalAttribute, _ value: String, alias: String, to account: AccountRecord, on server: TestServer
    ) async throws -> String {
        let id = RandomSource.system.identifier()
        _ = try await server.database.addPersonalValue(
            PersonalValueRecord(
                id: id, attribute: attribute, alias: alias, value: value, source: .administrator,
                createdAt: server.clock.now), accountID: account.id, limit: 8,
            audit: AuditEvent(.personalValueAdded, at: server.clock.now, accountID: account.id))
        return id
    }

    private func values(of account: AccountRecord, on server: TestServer) async throws -> [String] {
        try await server.database.personalValues(accountID: account.id).map(\.value)
    }

    @Test("A service that asks for nothing is answered with nothing")
    func aServiceThatAsksForNothingIsPreparedUntouched() async throws {
        let server = try TestServer()
        try await server.addService()
        let (_, phone) = try await server.personalise()
        let code = try await server.showCode()
        #expect(try await phone.start(code).attributes.attributes.isEmpty)
        let prepared = try await phone.prepared(code.id)
        #expect(try SessionDocument(parsing: prepared.document).attributes.isEmpty && prepared.salts.isEmpty)
        guard case .accepted = try await phone.finish(code.id, prepared) else {
            Issue.record("refused")
            return
        }
    }

    @Test("What was missing and is typed is the account's with the success, and not before")
    func whatIsTypedReachesTheAccountWithTheSuccess() async throws {
        let server = try TestServer()
        try await server.addService(attributes: [.givenName: .required])
        let (account, phone) = try await server.personalise()
        let code = try await server.showCode()
        let asked = try await phone.start(code).attributes.attributes
        #expect(asked.map(\.attribute) == [.givenName] && asked[0].aliases.isEmpty && asked[0].isSuppliable)
        let answers: [PersonalAttribute: AttributeAnswer] = [.givenName: .value("Alice")]
        let prepared = try await phone.prepared(code.id, answers: answers)
        let document = try SessionDocument(parsing: prepared.document)
        #expect(document.confirms(answers, salts: prepared.salts))
        #expect(try await self.values(of: account, on: server).isEmpty, "before the success")
        _ = try await phone.finish(code.id, prepared)
        #expect(try await self.values(of: account, on: server) == ["Alice"])
        let selection = try await server.database.attributeSelection(
            accountID: account.id, service: TestServer.service)
        let stored = try await server.database.personalValues(accountID: account.id)
        #expect(selection == [.givenName: try #require(stored.first).id])
    }

    @Test("Right factors count as right where what was confirmed cannot be handed over any more")
    func whatIsOutdatedIsNoFailedAttempt() async throws {
        for what in ["no room", "a value that is gone", "an optional value that is gone"] {
            let server = try TestServer { $0.limits.valuesPerAttribute = 1 }
            try await server.addService(
                attributes: [.givenName: .required, .email: what == "a value that is gone" ? .required : .optional])
            let (account, phone) = try await server.personalise()
            let name = try await self.add(.givenName, "Alice", alias: "Mine", to: account, on: server)
            let email = try await self.add(.email, "a@b.example", alias: "Home", to: account, on: server)
            let code = try await server.showCode()
            _ = try await phone.start(code)
            if what == "no room" {
                _ = try await server.database.removePersonalValue(
                    name, accountID: account.id,
                    audit: AuditEvent(.personalValueRemoved, at: server.clock.now, accountID: account.id))
            }
            let prepared = try await phone.prepared(
                code.id,
                answers: [
                    .givenName: what == "no room" ? .value("Eve") : .alias(id: name), .email: .alias(id: email),
                ])
            if what == "no room" {
                _ = try await self.add(.givenName, "Alice", alias: "Mine", to: account, on: server)
            } else {
                _ = try await server.database.removePersonalValue(
                    email, accountID: account.id,
                    audit: AuditEvent(.personalValueRemoved, at: server.clock.now, accountID: account.id))
            }
            if what == "an optional value that is gone" {
                guard case .accepted = try await phone.finish(code.id, prepared) else {
                    Issue.record("refused")
                    return
                }
                continue
            }
            await #expect(throws: IdentityProblem(.answersOutdated), "\(what)") { () async throws in
                _ = try await phone.finish(code.id, prepared)
            }
            #expect(try await server.lockout(of: phone) == LockoutRecord(), "\(what)")
            #expect(try await server.engine.signIns.state(reference: "request", browser: server.browser) == .expired)
            // Right as they are, the same factors take nothing back a second time.
            await #expect(throws: IdentityProblem(.sessionExpired), "\(what)") { () async throws in
                _ = try await phone.finish(code.id, prepared)
            }
            #expect(try await server.database.identityConsents(accountID: account.id, limit: 9).isEmpty)
        }
    }

    @Test(
        "What was typed is forgotten with a session that comes to nothing",
        arguments: [
            "abort", "expiry", "lockout for good", "lockout of another session", "another session of the page",
            "removal of the device",
        ])
    func whatIsTypedIsForgottenWithASessionThatEnds(ending: String) async throws {
        let server = try TestServer { $0.limits.lockoutFailuresInARow = 1 }
        try await server.addService(attributes: [.givenName: .required])
        let (account, phone) = try await server.personalise()
        let code = try await server.showCode()
        _ = try await phone.start(code)
        let prepared = try await phone.prepared(code.id, answers: [.givenName: .value("Alice")])
        func progress() async throws -> String {
            let record = try #require(try await server.database.ceremony(.id(code.id)))
            return String(decoding: record.progress ?? [], as: UTF8.self)
        }
        #expect(try await progress().contains("Alice"), "it is kept until the factors come")
        switch ending {
        case "abort":
            let call = try phone.call("/identity/sessions/\(code.id)/abort", EmptyBody())
            _ = try await phone.read(
                try await server.engine.identities.control.abort(code.id, call), to: call, as: EmptyBody.self)
        case "expiry":
            server.clock.advance(.seconds(181))
            _ = try await server.engine.sweep.run()
        case "lockout for good":
            #expect(try await phone.miss(code.id, prepared).lockout.isPermanent)
        case "another session of the page":
            // Its time is over, and nothing has been swept yet.
            server.clock.advance(.seconds(181))
            #expect(try await server.showCode().id != code.id)
            await #expect(throws: IdentityProblem(.sessionExpired)) { () async throws in
                _ = try await phone.finish(code.id, prepared)
            }
        case "removal of the device":
            let remove = try phone.call("/identity/activation", method: "DELETE")
            #expect(try await server.engine.identities.activations.remove(remove).refusal == nil)
        default:
            let other = try await server.showCode("other")
            _ = try await phone.start(other)
            let wrong = try await phone.prepared(other.id, answers: [.givenName: .value("Eve")])
            #expect(try await phone.miss(other.id, wrong).lockout.isPermanent)
        }
        #expect(try await !progress().contains("Alice"))
        #expect(try await self.values(of: account, on: server).isEmpty)
    }

    @Test("What was typed is still there for the attempt after a lockout, and the account's with that one")
    func whatIsTypedWaitsForTheRightFactors() async throws {
        let server = try TestServer()
        try await server.addService(attributes: [.givenName: .required])
        let (account, phone) = try await server.personalise()
        let code = try await server.showCode()
        _ = try await phone.start(code)
        let prepared = try await phone.prepared(code.id, answers: [.givenName: .value("Alice")])
        let next = try #require(try await phone.miss(code.id, prepared).next)
        #expect(try await self.values(of: account, on: server).isEmpty)
        server.clock.advance(.seconds(6))
        _ = try await phone.finish(code.id, next)
        #expect(try await self.values(of: account, on: server) == ["Alice"])
    }

    // MARK: What is wrong

    /// A service that wants all kinds of answers: `nickname` has two values, `familyName` one, the others none.
    private func asking() async throws -> (phone: IdentityPhone, session: String, server: TestServer) {
        let server = try TestServer()
        try await server.addService(
            attributes: [
                .givenName: .required, .familyName: .required, .nickname: .required, .email: .required,
                .placeOfBirth: .optional,
            ])
        let (account, phone) = try await server.personalise()
        _ = try await self.add(.nickname, "Al", alias: "short", to: account, on: server)
        _ = try await self.add(.nickname, "Alice", alias: "long", to: account, on: server)
        _ = try await self.add(.familyName, "Liddell", alias: "born", to: account, on: server)
        let code = try await server.showCode()
        _ = try await phone.start(code)
        return (phone, code.id, server)
    }

    private func errors(_ phone: IdentityPhone, _ session: String, _ answers: [PersonalAttribute: AttributeAnswer])
        async throws -> [PersonalAttribute: AuthenticationInformationErrorCode]
    {
        guard case .errors(let errors, _) = try await phone.prepare(session, answers: answers) else { return [:] }
        return errors
    }

    @Test("All that is wrong is told in one answer, each attribute with its own code")
    func allThatIsWrongIsToldAtOnce() async throws {
        let (phone, session, _) = try await self.asking()
        let errors = try await self.errors(
            phone, session,
            [
                .givenName: .value(""), .familyName: .value("Alice"), .gender: .value("female"),
                .placeOfBirth: .alias(id: "none"),
            ])
        #expect(
            errors == [
                .givenName: .invalid, .familyName: .notAvailable, .nickname: .noAliasSelected,
                .gender: .notAvailable, .email: .dataMissing, .placeOfBirth: .dataMissing,
            ])
    }

    private static let codes: [(PersonalAttribute, AttributeAnswer?, AuthenticationInformationErrorCode)] = [
        (.givenName, nil, .dataMissing), (.givenName, .value(""), .invalid),
        (.givenName, .value(String(repeating: "x", count: 129)), .invalid),
        (.gender, .value("female"), .notAvailable), (.nickname, nil, .noAliasSelected),
        (.nickname, .alias(id: "none"), .noAliasSelected), (.givenName, .value("Alice"), .none),
    ]

    @Test("What is wrong with one attribute is told of that one alone, by its code", arguments: codes)
    func eachErrorHasItsCode(
        attribute: PersonalAttribute, answer: AttributeAnswer?, code: AuthenticationInformationErrorCode
    ) async throws {
        let server = try TestServer()
        try await server.addService(attributes: [.givenName: .required, .nickname: .required])
        let (account, phone) = try await server.personalise()
        let short = try await self.add(.nickname, "Al", alias: "short", to: account, on: server)
        _ = try await self.add(.nickname, "Alice", alias: "long", to: account, on: server)
        let session = try await server.showCode()
        _ = try await phone.start(session)
        var answers: [PersonalAttribute: AttributeAnswer] = [.givenName: .value("Bob"), .nickname: .alias(id: short)]
        answers[attribute] = answer
        let errors = try await self.errors(phone, session.id, answers)
        #expect(errors == (code == .none ? [:] : [attribute: code]))
    }

    /// Values of so many characters, and the examples of attributes whose values have no length.
    private func values(lengths: [PersonalAttribute: Int]) -> [PersonalAttribute: AttributeAnswer] {
        var answers: [PersonalAttribute: AttributeAnswer] = [:]
        for attribute in PersonalAttribute.allCases where !attribute.needsVerification {
            let text = lengths[attribute].map { String(repeating: "x", count: $0) } ?? attribute.example
            answers[attribute] = .value(attribute == .address ? "\(text)\n7b\n1204\nGeneva\nCH" : text)
        }
        return answers
    }

    @Test("The bounds that a session tells are those of the server's rules, by which it takes or refuses what is typed")
    func boundsAreTheServers() async throws {
        let server = try TestServer()
        let asked = PersonalAttribute.allCases.map { ($0, ServiceProfile.Requirement.required) }
        try await server.addService(attributes: Dictionary(uniqueKeysWithValues: asked))
        let (account, phone) = try await server.personalise()
        _ = try await self.add(.email, "a@b.example", alias: "Home", to: account, on: server)
        _ = try await self.add(.phoneNumber, "+41225550123", alias: "Mobile", to: account, on: server)
        let code = try await server.showCode()
        let bounds = try await phone.start(code).bounds
        // No operator sets them: they are the rules' own.
        let day = try #require(CalendarDay(year: 2027, month: 1, day: 15))
        #expect(bounds == ValidatorBounds(PersonalInformationRules(birthdate: BirthdateValidator(latest: day))))
        #expect(bounds.lengths[.givenName] == 1...128 && bounds.lengths[.salutation] == 1...64)
        #expect(bounds.lengths[.address] == 1...256 && bounds.lengths[.email] == 1...254)
        #expect(bounds.lengths[.phoneNumber] == 7...15)

        // Nobody types an address of e-mail or a telephone number here.
        let typed = bounds.lengths.filter { !$0.key.needsVerification }
        let wrong = typed.mapValues { _ in AuthenticationInformationErrorCode.invalid }
        let longer = self.values(lengths: typed.mapValues { $0.upperBound + 1 })
        #expect(try await self.errors(phone, code.id, longer) == wrong)
        let shorter = self.values(lengths: typed.mapValues { $0.lowerBound - 1 })
        #expect(try await self.errors(phone, code.id, shorter) == wrong)
        let longest = self.values(lengths: typed.mapValues(\.upperBound))
        let document = try SessionDocument(parsing: try await phone.prepared(code.id, answers: longest).document)
        #expect(Set(document.attributes.keys) == Set(PersonalAttribute.allCases))
    }

    @Test("What the account has of a person is not typed over, and what is to be verified is not typed at all")
    func whatCannotBeSupplied() async throws {
        let (phone, session, _) = try await self.asking()
        let asked = try await self.errors(
            phone, session, [.nickname: .value("Eve"), .email: .value("a@b.example"), .givenName: .value("Alice")])
        #expect(asked == [.nickname: .notAvailable, .email: .notAvailable])
    }

    @Test("The only value that there is needs no answer")
    func theOnlyValueIsChosen() async throws {
        let server = try TestServer()
        try await server.addService(attributes: [.nickname: .required])
        let (account, phone) = try await server.personalise()
        let only = try await self.add(.nickname, "Al", alias: "short", to: account, on: server)
        let code = try await server.showCode()
        #expect(try await phone.start(code).attributes.attributes[0].aliases.map(\.id) == [only])
        let prepared = try await phone.prepared(code.id)
        let document = try SessionDocument(parsing: prepared.document)
        #expect(document.attributes == [.nickname: .alias(id: only, text: "short")])
        _ = try await phone.finish(code.id, prepared)
        let selection = try await server.database.attributeSelection(
            accountID: account.id, service: TestServer.service)
        #expect(selection == [.nickname: only])
    }

    // MARK: What is remembered

    @Test("A choice is remembered for its service, and another service asks again")
    func aChoiceIsRememberedForItsService() async throws {
        let server = try TestServer()
        try await server.addService(attributes: [.nickname: .required])
        try await server.addService("other", attributes: [.nickname: .required])
        let (account, phone) = try await server.personalise()
        _ = try await self.add(.nickname, "Al", alias: "short", to: account, on: server)
        let long = try await self.add(.nickname, "Alice", alias: "long", to: account, on: server)
        let code = try await server.showCode()
        let asked = try await phone.start(code)
        #expect(asked.attributes.attributes[0].aliases.count == 2)
        let prepared = try await phone.prepared(code.id, answers: [.nickname: .alias(id: long)])
        _ = try await phone.finish(code.id, prepared)

        let again = try await phone.start(try await server.showCode("again")).attributes.attributes[0].aliases
        #expect(again.map(\.alias) == ["long"])
        let other = try await phone.start(try await server.showCode("other", service: "other"))
        #expect(other.attributes.attributes[0].aliases.count == 2)
        #expect(try await phone.login(try await server.showCode("third")).roleName == "Patient", "needs no answer")
    }

    @Test("A choice is not remembered before the factors are right")
    func aChoiceIsNotRememberedWithoutASuccess() async throws {
        let server = try TestServer()
        try await server.addService(attributes: [.nickname: .required])
        let (account, phone) = try await server.personalise()
        let first = try await self.add(.nickname, "Al", alias: "short", to: account, on: server)
        _ = try await self.add(.nickname, "Alice", alias: "long", to: account, on: server)
        let code = try await server.showCode()
        _ = try await phone.start(code)
        _ = try await phone.miss(
            code.id, try await phone.prepared(code.id, answers: [.nickname: .alias(id: first)]))
        server.clock.advance(.seconds(6))
        let next = try await server.showCode("next")
        #expect(try await phone.start(next).attributes.attributes[0].aliases.count == 2)
        guard case .errors(let errors, _) = try await phone.prepare(next.id) else {
            Issue.record("prepared without a choice")
            return
        }
        #expect(errors == [.nickname: .noAliasSelected])
    }

    @Test("A value that is taken away voids its choice: the person is asked again")
    func aValueThatIsGoneVoidsTheChoice() async throws {
        let server = try TestServer()
        try await server.addService(attributes: [.nickname: .required])
        let (account, phone) = try await server.personalise()
        let ids = [
            try await self.add(.nickname, "Al", alias: "one", to: account, on: server),
            try await self.add(.nickname, "Ali", alias: "two", to: account, on: server),
            try await self.add(.nickname, "Alice", alias: "three", to: account, on: server),
        ]
        _ = try await phone.login(try await server.showCode(), answers: [.nickname: .alias(id: ids[0])])
        _ = try await server.database.removePersonalValue(
            ids[0], accountID: account.id, audit: AuditEvent(.personalValueRemoved, at: server.clock.now))
        let next = try await server.showCode("next")
        let aliases = try await phone.start(next).attributes.attributes[0].aliases
        #expect(Set(aliases.map(\.alias)) == ["two", "three"])
        guard case .errors(let errors, _) = try await phone.prepare(next.id) else {
            Issue.record("prepared without a choice")
            return
        }
        #expect(errors == [.nickname: .noAliasSelected])
    }

    @Test("An attribute that a service adds voids every choice for it, and for no other: the person is asked about all")
    func anAddedAttributeVoidsTheChoices() async throws {
        let server = try TestServer()
        for service in [TestServer.service, "other"] {
            try await server.addService(service, attributes: [.nickname: .required, .familyName: .required])
        }
        let (account, phone) = try await server.personalise()
        _ = try await self.add(.nickname, "Al", alias: "short", to: account, on: server)
        let long = try await self.add(.nickname, "Alice", alias: "long", to: account, on: server)
        _ = try await self.add(.familyName, "Meier", alias: "name", to: account, on: server)
        _ = try await self.add(.givenName, "Alice", alias: "passport", to: account, on: server)
        for service in [TestServer.service, "other"] {
            _ = try await phone.login(
                try await server.showCode(service, service: service), answers: [.nickname: .alias(id: long)])
        }
        func nicknames(_ name: String, _ service: String = TestServer.service) async throws -> Set<String> {
            let asked = try await phone.start(try await server.showCode(name, service: service)).attributes
            return Set(asked.attributes.first { $0.attribute == .nickname }?.aliases.map(\.alias) ?? [])
        }
        // Less, or with less need, is no reason to ask again.
        try await server.addService(attributes: [.nickname: .optional])
        #expect(try await nicknames("less") == ["long"])
        try await server.addService(attributes: [.nickname: .required, .givenName: .required])
        #expect(try await nicknames("more") == ["short", "long"])
        #expect(try await nicknames("elsewhere", "other") == ["long"])

        let next = try await server.showCode("next")
        _ = try await phone.start(next)
        guard case .errors(let errors, _) = try await phone.prepare(next.id) else {
            Issue.record("prepared without a choice")
            return
        }
        #expect(errors == [.nickname: .noAliasSelected], "the one value of what was added is chosen by itself")
        let prepared = try await phone.prepared(next.id, answers: [.nickname: .alias(id: long)])
        guard case .accepted = try await phone.finish(next.id, prepared) else {
            Issue.record("not signed in")
            return
        }
        #expect(try await nicknames("again") == ["long"], "and is remembered anew")
    }

    @Test("Corrections have a limit, past which the session is over for phone and page")
    func correctionsHaveALimit() async throws {
        let server = try TestServer()
        try await server.addService(attributes: [.givenName: .required])
        let (_, phone) = try await server.personalise()
        let code = try await server.showCode()
        _ = try await phone.start(code)
        try await phone.useUpCorrections(code.id)
        await #expect(throws: IdentityProblem(.correctionLimitExceeded)) { () async throws in
            _ = try await phone.prepare(code.id)
        }
        await #expect(throws: IdentityProblem(.correctionLimitExceeded)) { () async throws in
            _ = try await phone.prepare(code.id, answers: [.givenName: .value("Alice")])
        }
        let prolong = try phone.call("/identity/sessions/\(code.id)/prolong", EmptyBody())
        #expect(
            try await server.engine.identities.control.prolong(code.id, prolong).refusal == "correctionLimitExceeded")
        #expect(try await server.engine.signIns.state(reference: "request", browser: server.browser) == .failed)
    }

    @Test("What is optional need not be confirmed, whatever the account has of it", arguments: 0...2)
    func whatIsOptionalNeedNotBeConfirmed(values: Int) async throws {
        let server = try TestServer()
        try await server.addService(attributes: [.givenName: .optional])
        let (account, phone) = try await server.personalise()
        for index in 0..<values {
            _ = try await self.add(.givenName, "Alice", alias: "\(index)", to: account, on: server)
        }
        #expect(try await phone.login(try await server.showCode()).purpose == .userLogin)
        let selection = try await server.database.attributeSelection(
            accountID: account.id, service: TestServer.service)
        #expect(selection.isEmpty, "nothing goes to the service that nobody has confirmed")
    }
}
