import ArgumentParser
import Ceremony
import PersonalInformation
import UAF
import _Primitives

/// A person's prepared answers to a service that requests a personalised identity.
struct IdentityOptions: ParsableArguments {
    @Option(help: "As what to come to the service, where the identity has several roles there.")
    var role: String?

    @Option(
        help: ArgumentHelp(
            "Which of several values the service gets; may be given several times.", valueName: "attribute=alias"))
    var alias: [ChosenAlias] = []

    @Flag(
        help: """
            Read values that the account has not from the standard input: one line with a JSON object, such as \
            {"givenName": "Alice"}. Lines with PINs come after it.
            """)
    var valueStdin = false

    @Option(help: "What to authenticate with, such as pin,device; by default what the service takes first.")
    var factor: FactorList?
}

/// The value of one `--alias` option.
struct ChosenAlias: ExpressibleByArgument, Equatable {
    let attribute: PersonalAttribute
    let alias: String

    init?(argument: String) {
        let parts = argument.splitBytes(at: "=", maxSplits: 1)
        guard parts.count == 2, let attribute = PersonalAttribute(rawValue: String(parts[0])), !parts[1].isEmpty else {
            return nil
        }
        self.attribute = attribute
        self.alias = String(parts[1])
    }
}

/// The value of one `--factor` option.
struct FactorList: ExpressibleByArgument, Equatable {
    let types: Set<AuthenticatorType>

    init?(argument: String) {
        let names = argument.splitBytes(at: ",").map { String($0) }
        let types = names.compactMap { name in AuthenticatorType.allCases.first { $0.name == name } }
        guard !types.isEmpty, types.count == names.count, Set(types).count == types.count else { return nil }
        self.types = Set(types)
    }
}

extension AuthenticatorType {
    /// The name in options and lines of JSON.
    var name: String { "\(self)" }

    /// The name in sentences.
    var title: String {
        switch self {
        case .device: "this device"
        case .pin: "the PIN"
        case .biometric: "a finger or a face (simulated)"
        default: self.name
        }
    }
}
