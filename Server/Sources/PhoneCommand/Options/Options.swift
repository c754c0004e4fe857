import ArgumentParser
import Countersign
import Foundation
import _Primitives

/// The choice of the phone, and the form of its output.
struct PhoneOptions: ParsableArguments {
    static let defaultHome = "~/.countersign-phone"

    @Option(help: "The folder that holds the phone.")
    var home = PhoneOptions.defaultHome

    @Flag(help: "Print one JSON object a line; nothing is asked.")
    var json = false

    @Option(help: "PEM file of an additional certificate authority to trust.")
    var caFile: String?

    @Option(help: "Pin of a server's key, SHA-256 in Base64 (repeatable): other servers get nothing.")
    var tlsPin: [String] = []

    @Option(help: "Pin of a key that the server's operator has in reserve (repeatable); needed with --tls-pin.")
    var tlsBackupPin: [String] = []

    @Option(help: "The server's address, for a typed code or where the phone knows several.")
    var server: String?

    @Option(help: "The language of errors: en, de, fr or es. Without it: LC_ALL, LC_MESSAGES or LANG.")
    var language: String?

    @Option(help: "A file to record this phone's steps in, for `countersign trace draw`.")
    var trace: String?

    @Option(help: "The place of new keys: file or tpm. The phone remembers it; without it: file.")
    var keyStore: KeyStoreName?

    @Option(help: "With --key-store tpm: the place of the chip for tpm2-tss, such as swtpm:path=FILE.")
    var tcti: String?

    var homePath: String { (self.home as NSString).expandingTildeInPath }

    func validate() throws {
        guard self.tcti == nil || self.keyStore == .tpm else {
            throw ValidationError("--tcti is for --key-store tpm.")
        }
        guard let language else { return }
        guard MessageCatalogue.standard.languages.contains(where: { $0.tag.hasSameBytes(as: language) }) else {
            let tags = MessageCatalogue.standard.languages.map(\.tag).joined(separator: ", ")
            throw ValidationError("--language takes one of \(tags).")
        }
    }

    /// The language in which the phone tells of errors.
    var messageLanguage: any MessageLanguage { self.messageLanguage(in: ProcessInfo.processInfo.environment) }

    /// Returns the language in which the phone tells of errors: the language of the option, or else of the environment
    /// (POSIX.1-2024, Base Definitions, section 8.2: `LC_ALL`, then `LC_MESSAGES`, then `LANG`).
    func messageLanguage(in environment: [String: String]) -> any MessageLanguage {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"].compactMap { environment[$0] }.first { !$0.isEmpty }
        // A locale is `de_CH.UTF-8@euro`: a language, a territory, a code set and a modifier.
        let tag = locale?.prefix { $0 != "." && $0 != "@" }.map { $0 == "_" ? "-" : String($0) }.joined()
        return MessageCatalogue.standard.language(for: [self.language ?? tag].compactMap(\.self))
    }

    /// Returns the given address.
    func serverAddress() throws -> ServerAddress? {
        guard let text = self.server else { return nil }
        guard let address = ServerAddress(text) else {
            throw Refusal.usage("--server takes an address such as https://sign-in.example.com.")
        }
        return address
    }
}

/// The person's prepared answers.
struct AnswerOptions: ParsableArguments {
    @Flag(help: "Agree to what is asked.")
    var approve = false

    @Flag(help: "Say that a browser which the account has not used before is yours: --approve does not.")
    var newBrowser = false

    @Flag(help: "Deny what is asked; the phone signs the denial.")
    var deny = false

    @Flag(help: "Deny what is asked, and say that you did not begin it: the service rests for an hour or more.")
    var notMe = false

    @Flag(help: "Read the PIN from the standard input, a line for each time that it is asked for.")
    var pinStdin = false

    @Flag(help: "Read the password from the standard input, a line for each time that it is asked for.")
    var passwordStdin = false

    @Option(help: "The PIN, for a server on this machine alone: other programs see a process's arguments.")
    var pin: String?

    @Option(help: "The account to answer with.")
    var account: String?

    @Option(help: "pin, password, fingerprint, face, passcode or device.")
    var authenticator: AuthenticatorName?

    @Option(help: "The number that is shown where you began, where the phone asks for one.")
    var number: String?

    @Flag(help: "Open the continuation of a sign-in on this same device with xdg-open.")
    var open = false

    func validate() throws {
        if [self.approve, self.deny, self.notMe].count(where: \.self) > 1 {
            throw ValidationError("--approve, --deny and --not-me exclude each other.")
        }
        if [self.pin != nil, self.pinStdin, self.passwordStdin].count(where: \.self) > 1 {
            throw ValidationError("--pin, --pin-stdin and --password-stdin exclude each other.")
        }
    }

    /// `true` if the options say how to answer.
    var isDecided: Bool { self.approve || self.deny || self.notMe }

    /// `true` if the standard input takes the place of the person's typing.
    var takesStandardInput: Bool { self.pinStdin || self.passwordStdin }

    /// Throws a usage ``Refusal`` if a PIN on the command line would go to a server on another machine.
    func checkArguments(for server: ServerAddress) throws {
        guard self.pin == nil || server.isLoopback else {
            throw Refusal.usage("--pin is for a server on this machine alone; use --pin-stdin.")
        }
    }
}

/// The name of a key store on the command line.
enum KeyStoreName: String, ExpressibleByArgument, CaseIterable {
    case file, tpm
}

/// The name of an authenticator on the command line.
enum AuthenticatorName: String, ExpressibleByArgument, CaseIterable {
    case pin, password, fingerprint, face, passcode, device
}

/// A server by scheme, host, port, and the path below which the server is.
struct ServerAddress: Equatable, Sendable {
    let url: URL

    init?(_ text: String) {
        guard let parts = URLComponents(string: text) else { return nil }
        self.init(parts)
    }

    init?(_ url: URL) {
        guard let parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return nil }
        self.init(parts)
    }

    /// Finds the server that redeems a code's token: the part of the address before the token's own path.
    init?(redeeming url: URL) {
        guard var parts = URLComponents(url: url, resolvingAgainstBaseURL: true) else { return nil }
        let end = parts.path.firstRange(of: "/token/redeem/")
        parts.path = end.map { String(parts.path[..<$0.lowerBound]) } ?? ""
        self.init(parts)
    }

    private init?(_ parts: URLComponents) {
        guard let scheme = parts.scheme?.asciiLowercased, ["http", "https"].contains(scheme), let host = parts.host,
            !host.isEmpty
        else { return nil }
        var server = URLComponents()
        server.scheme = scheme
        server.host = host.asciiLowercased
        server.port = parts.port
        server.path = parts.path.hasSuffix("/") ? String(parts.path.dropLast()) : parts.path
        guard let url = server.url else { return nil }
        self.url = url
    }

    /// `true` if the address can only mean this machine.
    var isLoopback: Bool {
        ["localhost", "127.0.0.1", "::1", "[::1]"].contains(self.url.host() ?? "")
    }

    var text: String { self.url.absoluteString }
}
