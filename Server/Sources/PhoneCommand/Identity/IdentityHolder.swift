import Foundation
import PersonalInformation
import UAF
import _Primitives

/// The person who holds the phone, as seen by personalised identities: a person at the keyboard, or a script with
/// prepared answers.
struct IdentityHolder {
    /// The kinds of PINs that a question asks for.
    enum Asked {
        /// The PIN of an activation's code.
        case activation
        /// The identity's PIN.
        case present
        /// A new PIN, to be chosen.
        case new

        var prompt: String {
            switch self {
            case .activation: "PIN of the activation: "
            case .present: "PIN: "
            case .new: "New PIN: "
            }
        }
    }

    let report: Report
    let options: IdentityOptions
    private let answers: AnswerOptions
    private var script: ScriptedAnswers
    private var values: JSONObject?

    /// - Parameter lines: The source of a script's lines: the standard input.
    init(
        _ answers: AnswerOptions, _ options: IdentityOptions, _ report: Report,
        lines: () -> String? = { readLine(strippingNewline: true) }
    ) throws {
        self.report = report
        self.options = options
        self.answers = answers
        // The values come first, because a PIN may have to be given several times.
        if options.valueStdin {
            guard case .object(let values)? = try? JSON(parsing: Array((lines() ?? "").utf8)) else {
                throw Refusal.usage(
                    "With --value-stdin the first line is a JSON object of attributes and their values.")
            }
            self.values = values
        }
        self.script = ScriptedAnswers(answers, lines: lines)
    }

    var terminal: PhoneTerminal { self.report.terminal }

    /// Approves a request that the phone's own user has begun, unless the options deny it: nobody else is asked for
    /// approval.
    mutating func approveOwnRequest() { self.script.approveOwnRequest() }

    /// Approves an enrolment, unless the options deny it. A script that personalises a phone has agreed by its command.
    mutating func approveEnrolment() { self.script.approveEnrolment() }

    /// Throws a usage ``Refusal`` if a PIN on the command line would go to a server on another machine.
    func checkArguments(for server: String) throws {
        if let server = ServerAddress(server) { try self.answers.checkArguments(for: server) }
    }

    // MARK: Yes and no

    /// Returns `true` if the person agrees. A script without an answer does not agree.
    func decides(_ question: String) async -> Bool {
        switch self.script.decision {
        case .approve: return true
        case .deny: return false
        case nil:
            guard self.terminal.isInteractive else { return false }
            return (try? await self.terminal.confirm(question)) ?? false
        }
    }

    // MARK: PINs

    /// `true` if another attempt is possible: a person is at the terminal, or a script has an unused PIN.
    var canTryAgain: Bool { self.terminal.isInteractive || self.script.hasSecret }

    /// Returns the next PIN. A person types a new PIN twice. Throws ``Refusal`` if a script has no PIN left, if the
    /// person gives up, or if the two new PINs differ.
    mutating func pin(_ asked: Asked) async throws -> SecretBytes {
        if let pin = self.script.next(.pin) { return SecretBytes(Array(pin.utf8)) }
        guard self.terminal.isInteractive, self.script.secret == nil else {
            throw Refusal.usage(
                "\(asked.prompt.dropLast(2)) is wanted: give it with --pin-stdin, each in a line of its own.")
        }
        let pin = try await self.typedPin(asked)
        guard asked == .new else { return pin }
        guard let again = try await self.terminal.readSecret("Once more: ") else { throw Self.gaveUp }
        guard pin == SecretBytes(Array(again.utf8)) else {
            throw Refusal.failed("pins-differ", "The two PINs differ. Nothing was changed: say the same again.")
        }
        return pin
    }

    /// Reads a PIN from the keyboard. An input that cannot be a PIN, such as a Return too early, is asked for again and
    /// costs no attempt. The code that judges a new PIN reports faults of the new PIN.
    private func typedPin(_ asked: Asked) async throws -> SecretBytes {
        while true {
            guard let typed = try await self.terminal.readSecret(asked.prompt) else { throw Self.gaveUp }
            let isNone = typed.utf8.count < Self.fewestDigits || !typed.utf8.allSatisfy(Self.digits.contains)
            guard asked != .new, isNone else { return SecretBytes(Array(typed.utf8)) }
            self.terminal.failure("A PIN has \(Self.fewestDigits) digits or more. Nothing was sent.")
        }
    }

    /// The smallest number of digits that a server can require.
    private static let fewestDigits = 5
    private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")

    /// The program detects missing answers of a script after the phone has taken up the service's code. The code is
    /// valid for one phone's try.
    private static let usedUp = "The code is used up: have a new one shown where you started."

    static let gaveUp = Refusal(.refused, .denied, "denied", "You gave up. Nothing was signed.")

    // MARK: Roles and factors

    /// Returns the index of the role with which the person comes. Throws ``Refusal``.
    func role(among names: [(id: String, name: String)]) async throws -> Int {
        if let wanted = self.options.role {
            let found = names.firstIndex { $0.id.hasSameBytes(as: wanted) || $0.name.hasSameBytes(as: wanted) }
            guard let found else {
                throw Refusal.notFound(
                    "no-such-role",
                    "You have no such role there, but: \(names.map(\.name).joined(separator: ", ")). \(Self.usedUp)")
            }
            return found
        }
        if names.count == 1 { return 0 }
        guard self.terminal.isInteractive else {
            throw Refusal.usage(
                "Name the role with --role: \(names.map(\.name).joined(separator: ", ")). \(Self.usedUp)")
        }
        guard let chosen = try await self.terminal.choose("As what do you come?", names.map(\.name)) else {
            throw Self.gaveUp
        }
        return chosen
    }

    /// Returns the alternative of factors to sign with. Throws ``Refusal``.
    func alternative(among alternatives: [[AuthenticatorType]]) async throws -> [AuthenticatorType] {
        func name(_ alternative: [AuthenticatorType]) -> String { alternative.map(\.name).joined(separator: ",") }
        if let wanted = self.options.factor {
            guard let found = alternatives.first(where: { Set($0) == wanted.types }) else {
                throw Refusal.usage(
                    "The service takes \(alternatives.map(name).joined(separator: " or ")) (--factor). \(Self.usedUp)")
            }
            return found
        }
        guard alternatives.count > 1, self.terminal.isInteractive else {
            // A script with a PIN wants an alternative with a PIN.
            let withPIN = self.script.hasSecret ? alternatives.first { $0.contains(.pin) } : nil
            return withPIN ?? alternatives[0]
        }
        let titles = alternatives.map { $0.map(\.title).joined(separator: " and ") }
        guard let chosen = try await self.terminal.choose("What do you sign with?", titles) else { throw Self.gaveUp }
        return alternatives[chosen]
    }

    // MARK: Attributes

    /// The kinds of answers that the service gets for an attribute.
    enum Given: String {
        /// A value of the account.
        case alias
        /// A value that the person has just given.
        case value
        /// No value.
        case nothing
    }

    /// Decides which value of an attribute the service gets. Throws ``Refusal``.
    func answer(_ asked: AskedAttribute) async throws -> (given: Given, alias: String?) {
        let chosen = self.options.alias.last { $0.attribute == asked.attribute }
        guard !asked.isDataMissing else {
            if let chosen { throw Self.noAlias(chosen, of: asked) }
            return (try await self.supply(asked), nil)
        }
        guard let alias = try await self.alias(chosen, of: asked) else { return (.nothing, nil) }
        _ = asked.choose(alias)
        return (.alias, alias.alias)
    }

    private func alias(_ chosen: ChosenAlias?, of asked: AskedAttribute) async throws -> PersonalInformationAlias? {
        if let chosen {
            guard let alias = asked.aliases.first(where: { $0.alias.hasSameBytes(as: chosen.alias) }) else {
                throw Self.noAlias(chosen, of: asked)
            }
            return alias
        }
        let names = asked.aliases.map(\.alias)
        guard asked.isRequired else {
            // An optional value is given only if somebody says so.
            guard self.terminal.isInteractive else { return nil }
            let none = "nothing"
            let choice = try await self.terminal.choose("\(asked.title) (the service can do without)?", [none] + names)
            return choice.flatMap { $0 == 0 ? nil : asked.aliases[$0 - 1] }
        }
        if asked.aliases.count == 1 { return asked.aliases[0] }
        guard self.terminal.isInteractive else {
            let name = asked.attribute.rawValue
            throw Refusal.usage(
                "The account has several values of \(name): choose with --alias \(name)=… among "
                    + "\(names.joined(separator: ", ")).")
        }
        let titles = asked.aliases.map { $0.isPrimary ? "\($0.alias) (usual)" : $0.alias }
        guard let choice = try await self.terminal.choose("Which \(asked.attribute.englishName)?", titles) else {
            throw Self.gaveUp
        }
        return asked.aliases[choice]
    }

    private static func noAlias(_ chosen: ChosenAlias, of asked: AskedAttribute) -> Refusal {
        let names = asked.aliases.map(\.alias).joined(separator: ", ")
        return .notFound(
            "no-such-alias",
            "The account has no value of \(chosen.attribute.rawValue) called \(chosen.alias)"
                + (names.isEmpty ? "." : ", but: \(names)."))
    }

    private func supply(_ asked: AskedAttribute) async throws -> Given {
        let name = asked.attribute.rawValue
        guard asked.isSuppliable else {
            guard asked.isRequired else { return .nothing }
            throw Refusal(
                .refused, .refused, "verified-value-missing",
                "The service needs \(name), which somebody has to verify first: have it added to your account.")
        }
        if let value = self.values?[name] {
            let code = asked.take(value)
            guard code == "valid" else { throw Self.refused(code, asked) }
            return .value
        }
        guard self.terminal.isInteractive else {
            guard asked.isRequired else { return .nothing }
            throw Refusal.usage("The account has no \(name), which the service needs: give it with --value-stdin.")
        }
        return try await self.type(asked)
    }

    /// Asks at the keyboard until the value is valid.
    private func type(_ asked: AskedAttribute) async throws -> Given {
        while true {
            guard let value = try await self.typed(asked) else {
                if asked.isRequired { throw Self.gaveUp }
                return .nothing
            }
            let code = asked.take(value)
            if code == "valid" { return .value }
            if code == "empty", !asked.isRequired { return .nothing }
            self.terminal.failure(Self.refused(code, asked).sentence)
        }
    }

    private func typed(_ asked: AskedAttribute) async throws -> JSON? {
        let hint = asked.isRequired ? asked.form : asked.form ?? "the service can do without"
        guard asked.attribute == .address else {
            let prompt = "\(asked.title)\(hint.map { " (\($0))" } ?? ""): "
            return try await self.terminal.ask(prompt).map { .string($0) }
        }
        var parts: JSONObject = [:]
        for (name, prompt) in [
            ("street", "Street"), ("houseNumber", "House number"), ("postalCode", "Postal code"), ("city", "Town"),
            ("country", "Country (two letters)"),
        ] {
            guard let part = try await self.terminal.ask("\(prompt): ") else { return nil }
            if !part.isEmpty { parts[name] = .string(part) }
        }
        return .object(parts)
    }

    private static func refused(_ code: String, _ asked: AskedAttribute) -> Refusal {
        let form = asked.form.map { " It is \($0)." } ?? ""
        return .failed(
            "value-refused", "The value for \(asked.attribute.rawValue) does not do: \(Refusal.kebab(code)).\(form)")
    }
}
