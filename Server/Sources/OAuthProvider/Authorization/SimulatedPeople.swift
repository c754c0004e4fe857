import Settings
import _Primitives

/// The reason why a file of simulated people is refused: the line, and the expected content.
public struct SimulatedPeopleError: Error, Sendable, Equatable {
    /// The number of the line, from 1; `nil` for the file as a whole.
    public let line: Int?
    /// The problem, in words that repeat nothing of the file.
    public let reason: String
}

/// A simulated register of people, for trying the answers of a real register about a person who signs in to the app
/// sign-in service: the person has several entries, is locked, or has another social security number in the register.
///
/// The register is a file of the operator, with one JSON object a line:
///
/// | Member | What |
/// |---|---|
/// | `username`, or `provider` and `subject` | who it is: an account here, or somebody at another provider |
/// | `mhv_ids`, `edipis`, `corp_ids` | the identifiers of one kind each; several of one kind are a conflict |
/// | `locked` | whether the person is locked |
/// | `ssn` | nine digits |
///
/// A person need not be in the file. The register is no store of people's numbers: its content stays in memory, and
/// goes nowhere.
public struct SimulatedPeople: Sendable {
    private enum Key: Hashable {
        case account(ExactText)
        case identity(provider: ExactText, subject: ExactText)
    }

    private struct Entry {
        var conflict: SignInServiceFailure?
        var ssn: [UInt8]?
    }

    private let entries: [Key: Entry]

    /// Reads a file's contents. Throws ``SimulatedPeopleError``.
    public init(parsing bytes: [UInt8]) throws(SimulatedPeopleError) {
        guard bytes.count <= Limits.Fixed.simulatedPeopleBytes else {
            throw SimulatedPeopleError(line: nil, reason: "it has more than \(Limits.Fixed.simulatedPeopleBytes) bytes")
        }
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        // The last line ends with a line break as all lines do.
        if lines.last?.isEmpty ?? false { lines.removeLast() }
        guard lines.count <= Limits.Fixed.simulatedPeopleLines else {
            throw SimulatedPeopleError(line: nil, reason: "it has more than \(Limits.Fixed.simulatedPeopleLines) lines")
        }
        var entries: [Key: Entry] = [:]
        for (index, line) in lines.enumerated() {
            func refuse(_ reason: String) -> SimulatedPeopleError {
                SimulatedPeopleError(line: index + 1, reason: reason)
            }
            guard line.count <= Limits.Fixed.simulatedPersonBytes else {
                throw refuse("it has more than \(Limits.Fixed.simulatedPersonBytes) bytes")
            }
            let (key, entry): (Key, Entry)
            do throws(JSONError) { (key, entry) = try Self.entry(Array(line)) } catch { throw refuse(error.reason) }
            guard entries.updateValue(entry, forKey: key) == nil else { throw refuse("the person is there twice") }
        }
        self.entries = entries
    }

    private static let members = [
        "username", "provider", "subject", "mhv_ids", "edipis", "corp_ids", "locked", "ssn",
    ]

    private static func entry(_ line: [UInt8]) throws(JSONError) -> (Key, Entry) {
        guard case .object(let object) = try JSON(parsing: line) else {
            throw JSONError(.wrongType, "it is not a JSON object")
        }
        guard object.members.allSatisfy({ Self.members.containsBytes(of: $0.name) }) else {
            throw JSONError(.malformed, "it has a member other than \(Self.members.joined(separator: ", "))")
        }
        func text(_ name: String) throws(JSONError) -> ExactText? {
            guard let text = try object.string(name) else { return nil }
            guard (1...Limits.Fixed.simulatedTextBytes).contains(text.utf8.count) else {
                throw JSONError(.malformed, "\(name) is empty or too long")
            }
            return ExactText(text)
        }
        let key: Key
        switch (try text("username"), try text("provider"), try text("subject")) {
        case (let username?, nil, nil): key = .account(username)
        case (nil, let provider?, let subject?): key = .identity(provider: provider, subject: subject)
        default: throw JSONError(.missing, "who it is: username alone, or provider and subject")
        }
        var entry = Entry()
        for (name, failure) in [
            ("corp_ids", SignInServiceFailure.manyCORPs), ("edipis", .manyEDIPIs), ("mhv_ids", .manyMHVs),
        ] {
            let known = try object.strings(name) ?? []
            guard known.count <= Limits.Fixed.simulatedIdentifiers,
                known.allSatisfy({ (1...Limits.Fixed.simulatedTextBytes).contains($0.utf8.count) })
            else { throw JSONError(.malformed, "\(name) are \(Limits.Fixed.simulatedIdentifiers) texts at most") }
            if Set(known.map(ExactText.init)).count > 1 { entry.conflict = failure }
        }
        if try object.bool("locked") ?? false { entry.conflict = .locked }
        if let ssn = try object.string("ssn") {
            guard let digits = Self.digits(of: ssn), ssn.utf8.count == digits.count else {
                throw JSONError(.malformed, "ssn is nine digits")
            }
            entry.ssn = digits
        }
        return (key, entry)
    }

    /// Returns the nine digits of a social security number, with or without hyphens; `nil` for anything else.
    private static func digits(of text: String) -> [UInt8]? {
        let digits = text.utf8.filter { $0 != UInt8(ascii: "-") }
        guard digits.count == 9, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return digits
    }

    // MARK: Asking

    /// Returns the reason why, by the register, an account of this server may not sign in; `nil` for no reason, and for
    /// an account that is not in the register.
    func failure(ofAccount username: String?) -> SignInServiceFailure? {
        username.flatMap { self.entries[.account(ExactText($0))]?.conflict }
    }

    /// `true` if the register has the number of a person at another provider.
    func hasNumber(of subject: String, at provider: String) -> Bool {
        self.entries[.identity(provider: ExactText(provider), subject: ExactText(subject))]?.ssn != nil
    }

    /// Returns the reason why a person from another provider may not sign in; `nil` for no reason.
    ///
    /// - Parameter ssn: The number from the provider, if the provider gave a number.
    func failure(of subject: String, at provider: String, ssn: String?) -> SignInServiceFailure? {
        guard let entry = self.entries[.identity(provider: ExactText(provider), subject: ExactText(subject))] else {
            return nil
        }
        if let conflict = entry.conflict { return conflict }
        guard let known = entry.ssn, let ssn else { return nil }
        // An invalid number agrees with no number.
        return Self.digits(of: ssn).map { constantTimeEqual($0, known) } ?? false ? nil : .otherSSN
    }
}
