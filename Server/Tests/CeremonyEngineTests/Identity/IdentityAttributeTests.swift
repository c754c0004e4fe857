import Ceremony
import CeremonyEngine
import Foundation
import PersonalInformation
import SQLiteStore
import Store
import Testing
import UAF
import _Primitives

@Suite("Identity sessions: what services want to know (identity parity, rows 16 to 39)")
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

    @Test("row 16") func aServiceThatAsksForNothingIsPreparedUntouched() async throws {
        let server = try TestServer()
        try await server.addService()
        let (_, phone) = try await server.personalise()
        let code = try await server.showCode()
        #expect(try await phone.start(code).attributes.attributes.isEmpty)
        let prepared = try await phone.prepared(code.id)
        #expect(try SessionDocument(parsing: prepared.document).attributes.isEmpty && prepared.salts.isEmpty)
    }

    @Test("row 24") func whatIsTypedReachesTheAccountWithTheSuccess() async throws {
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
        #expect(selection == [.givenName: stored[0].id])
    }

    @Test("row 25") func whatIsTypedIsForgottenWithASessionThatEnds() async throws {
        let server = try TestServer()
        try await server.addService(attributes: [.givenName: .required])
        let (account, phone) = try await server.personalise()
        let code = try await server.showCode()
        _ = try await phone.start(code)
        _ = try await phone.prepared(code.id, answers: [.givenName: .value("Alice")])
        let call = try phone.call("/identity/sessions/\(code.id)/abort", EmptyBody())
        _ = try await phone.read(
            try await server.engine.identities.ends.abort(code.id, call), to: call, as: EmptyBody.self)
        let record = try #require(try await server.database.ceremony(.id(code.id)))
        #expect(!String(decoding: record.progress ?? [], as: UTF8.self).contains("Alice"))
        #expect(try await self.values(of: account, on: server).isEmpty)

        let next = try await server.showCode("next")
        _ = try await phone.start(next)
        _ = try await phone.prepared(next.id, answers: [.givenName: .value("Alice")])
        server.clock.advance(.seconds(181))
        _ = try await server.engine.sweep.run()
        #expect(try await server.database.ceremony(.id(next.id))?.progress == nil)
        #expect(try await self.values(of: account, on: server).isEmpty)
    }

    @Test("rows 20, 28, 36") func allThatIsWrongIsToldAtOnce() async throws {
        let server = try TestServer()
        try await server.addService(
            attributes: [
                .givenName: .required, .familyName: .required, .nickname: .required, .email: .required,
                .placeOfBirth: .optional,
            ])
        let (account, phone) = try await server.personalise()
        _ = try await self.add(.nickname, "Al", alias: "short", to: account, on: server)
        _ = try await self.add(.nickname, "Alice", alias: "long", to: account, on: server)
        let code = try await server.showCode()
        _ = try await phone.start(code)
        let answer = try await phone.prepare(
            code.id, answers: [.familyName: .value(""), .gender: .value("female"), .email: .value("a@b.example")])
        guard case .errors(let errors, _) = answer else {
            Issue.record("prepared")
            return
        }
        #expect(
            errors == [
                .givenName: .dataMissing, .familyName: .invalid, .nickname: .noAliasSelected, .gender: .notAvailable,
                .email: .notAvailable,
            ])
    }

    @Test("rows 27, 31, 32, 34") func aChoiceIsRememberedForItsService() async throws {
        let server = try TestServer()
        try await server.addService(attributes: [.nickname: .required])
        try await server.addService("other", attributes: [.nickname: .required])
        let (account, phone) = try await server.personalise()
        _ = try await self.add(.nickname, "Secretnick", alias: "short", to: account, on: server)
        let long = try await self.add(.nickname, "Longsecret", alias: "long", to: account, on: server)
        let code = try await server.showCode()
        let asked = try await phone.start(code)
        #expect(asked.attributes.attributes[0].aliases.count == 2)
        #expect(!String(decoding: asked.serialized, as: UTF8.self).contains("ecret"), "no value leaves the server")
        let prepared = try await phone.prepared(code.id, answers: [.nickname: .alias(id: long)])
        _ = try await phone.finish(code.id, prepared)

        let again = try await phone.start(try await server.showCode("again")).attributes.attributes[0].aliases
        #expect(again.map(\.alias) == ["long"])
        let other = try await phone.start(try await server.showCode("other", service: "other"))
        #expect(other.attributes.attributes[0].aliases.count == 2)
        #expect(try await phone.login(try await server.showCode("third")).roleName == "Patient", "needs no answer")
    }

    @Test("row 33") func aChoiceIsNotRememberedWithoutASuccess() async throws {
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
        #expect(
            try await phone.start(try await server.showCode("next")).attributes.attributes[0].aliases.count == 2)
    }

    @Test("row 35") func aValueThatIsGoneVoidsTheChoice() async throws {
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
        let aliases = try await phone.start(try await server.showCode("next")).attributes.attributes[0].aliases
        #expect(Set(aliases.map(\.alias)) == ["two", "three"])
    }

    @Test("row 38") func correctionsHaveALimit() async throws {
        let server = try TestServer()
        try await server.addService(attributes: [.givenName: .required])
        let (_, phone) = try await server.personalise()
        let code = try await server.showCode()
        _ = try await phone.start(code)
        for _ in 0..<server.engine.configuration.limits.correctionsPerSession {
            guard case .errors = try await phone.prepare(code.id) else {
                Issue.record("prepared")
                return
            }
        }
        await #expect(throws: IdentityProblem(.correctionLimitExceeded)) { () async throws in
            _ = try await phone.prepare(code.id)
        }
        await #expect(throws: IdentityProblem(.correctionLimitExceeded)) { () async throws in
            _ = try await phone.prepare(code.id, answers: [.givenName: .value("Alice")])
        }
        #expect(try await server.engine.signIns.state(reference: "request", browser: server.browser) == .failed)
    }

    @Test("row 39") func whatIsOptionalNeedNotBeConfirmed() async throws {
        let server = try TestServer()
        try await server.addService(attributes: [.givenName: .optional])
        let (_, phone) = try await server.personalise()
        #expect(try await phone.login(try await server.showCode()).purpose == .userLogin)
    }
}
