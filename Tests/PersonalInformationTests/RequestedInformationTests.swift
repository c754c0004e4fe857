import PersonalInformation
import Testing

@Suite("Decision 57: what a person's answers come to")
struct RequestedInformationTests {
    private static let one = PersonalInformationAlias(id: "1", alias: "Private", isPrimary: true)
    private static let two = PersonalInformationAlias(id: "2", alias: "Work", isPrimary: false)

    private static func rules() throws -> PersonalInformationRules {
        PersonalInformationRules(
            birthdate: BirthdateValidator(latest: try #require(CalendarDay(year: 2026, month: 11, day: 23))))
    }

    private func errors(
        _ requests: [RequestedAttribute], _ answers: [PersonalAttribute: AttributeAnswer]
    ) throws -> [PersonalAttribute: AuthenticationInformationErrorCode] {
        RequestedInformation(requests).judge(answers, by: try Self.rules()).errors
    }

    @Test("Each error has its cause, and all are told at once")
    func allErrors() throws {
        let requests = [
            RequestedAttribute(.givenName), RequestedAttribute(.familyName), RequestedAttribute(.nickname),
            RequestedAttribute(.placeOfBirth, aliases: [Self.one, Self.two]),
            RequestedAttribute(.address, aliases: [Self.one, Self.two]),
            RequestedAttribute(.username, aliases: [Self.one]), RequestedAttribute(.email),
            RequestedAttribute(.gender),
        ]
        let errors = try self.errors(
            requests,
            [
                .givenName: .value("J\u{202E}o"), .familyName: .value("Doe"), .placeOfBirth: .alias(id: "3"),
                .username: .value("jo"), .email: .value("jo@example.com"), .salutation: .value("Frau"),
                .gender: .alias(id: "1"),
            ])
        #expect(
            errors == [
                .givenName: .invalid, .nickname: .dataMissing, .placeOfBirth: .noAliasSelected,
                .address: .noAliasSelected, .username: .notAvailable, .email: .notAvailable,
                .salutation: .notAvailable, .gender: .dataMissing,
            ])
    }

    @Test("With one error nothing is confirmed; without any, everything that was asked is")
    func confirmed() throws {
        let request = RequestedInformation([
            RequestedAttribute(.email, aliases: [Self.one]), RequestedAttribute(.givenName),
            RequestedAttribute(.address, aliases: [Self.one, Self.two]),
        ])
        #expect(request.attributes.map(\.attribute) == [.givenName, .address, .email])
        let rules = try Self.rules()
        let half = request.judge([.givenName: .value("Jo")], by: rules)
        #expect(half.errors == [.address: .noAliasSelected] && half.confirmed.isEmpty)
        let whole = request.judge([.givenName: .value("Jo"), .address: .alias(id: "2")], by: rules)
        #expect(whole.errors.isEmpty)
        #expect(whole.confirmed == [.givenName: .value("Jo"), .address: .alias(id: "2"), .email: .alias(id: "1")])
        let nothing = RequestedInformation([]).judge([:], by: rules)
        #expect(nothing.confirmed.isEmpty && nothing.errors.isEmpty)
    }

    @Test("What is optional needs no answer, and without one nothing of it goes to the service")
    func optional() throws {
        let request = RequestedInformation([
            RequestedAttribute(.nickname, isRequired: false),
            RequestedAttribute(.address, isRequired: false, aliases: [Self.one, Self.two]),
            RequestedAttribute(.email, isRequired: false, aliases: [Self.one]),
        ])
        let rules = try Self.rules()
        let unanswered = request.judge([:], by: rules)
        #expect(unanswered.confirmed.isEmpty && unanswered.errors.isEmpty)
        let chosen = request.judge([.email: .alias(id: "1"), .nickname: .value("Jo")], by: rules)
        #expect(chosen.confirmed == [.email: .alias(id: "1"), .nickname: .value("Jo")])
        #expect(request.judge([.email: .alias(id: "2")], by: rules).errors == [.email: .noAliasSelected])
    }

    @Test("A value is taken in its one spelling alone, and one that has to be verified where the service lets it")
    func values() throws {
        #expect(
            try self.errors([RequestedAttribute(.givenName)], [.givenName: .value(" Jo")]) == [.givenName: .invalid])
        let address = RequestedAttribute(.email, isSuppliable: true)
        #expect(try self.errors([address], [.email: .value("jo@example.com")]).isEmpty)
        #expect(try self.errors([address], [.email: .value("jo")]) == [.email: .invalid])
        #expect(try self.errors([RequestedAttribute(.email)], [:]) == [.email: .dataMissing])
        let name = RequestedAttribute(.givenName, isSuppliable: false)
        #expect(try self.errors([name], [.givenName: .value("Jo")]) == [.givenName: .notAvailable])
    }

    @Test("Of any request and any answers: confirmed is what was asked for, or there is an error, never both")
    func anything() throws {
        var random = SeededGenerator(seed: 13)
        let rules = try Self.rules()
        let aliases = (0..<3).map { PersonalInformationAlias(id: "\($0)", alias: "a", isPrimary: $0 == 0) }
        var confirmations = 0
        for _ in 0..<5000 {
            let requests = PersonalAttribute.allCases.shuffled(using: &random).prefix(
                Int.random(in: 0...5, using: &random)
            )
            .map { attribute in
                RequestedAttribute(
                    attribute, isRequired: Bool.random(using: &random), isSuppliable: Bool.random(using: &random),
                    aliases: Set(aliases.prefix(Int.random(in: 0...3, using: &random))))
            }
            var answers: [PersonalAttribute: AttributeAnswer] = [:]
            for request in requests {
                switch Int.random(in: 0...3, using: &random) {
                case 0: break
                case 1: answers[request.attribute] = .value("Jo")
                default: answers[request.attribute] = .alias(id: "\(Int.random(in: 0...3, using: &random))")
                }
            }
            if Int.random(in: 0..<8, using: &random) == 0 { answers[.nickname] = .value("Jo") }
            let judged = RequestedInformation(requests).judge(answers, by: rules)
            #expect(judged.errors.isEmpty || judged.confirmed.isEmpty)
            #expect(!judged.errors.values.contains(.none))
            guard judged.errors.isEmpty else { continue }
            confirmations += 1
            for (attribute, answer) in judged.confirmed {
                let request = try #require(requests.first { $0.attribute == attribute })
                switch answer {
                case .alias(let id): #expect(request.aliases.contains { $0.id == id })
                case .value: #expect(request.aliases.isEmpty && request.isSuppliable)
                }
                #expect(answers[attribute].map { $0 == answer } ?? (request.isRequired && request.aliases.count == 1))
            }
            for request in requests where request.isRequired { #expect(judged.confirmed[request.attribute] != nil) }
            for attribute in answers.keys { #expect(judged.confirmed[attribute] != nil) }
        }
        #expect(confirmations > 500)
    }
}
