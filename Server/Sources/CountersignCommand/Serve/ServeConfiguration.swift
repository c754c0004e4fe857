import AppSignIn
import Ceremony
import CeremonyEngine
import Foundation
import Logging
import OAuth
import OAuthProvider
import Settings
import UAF
import UAFRelyingParty
import _Primitives

/// The configuration of `countersign serve`: a YAML file < environment (`COUNTERSIGN_…`) < flags.
struct ServeConfiguration: Sendable {
    /// A local address to listen at.
    struct Endpoint: Equatable, Sendable, CustomStringConvertible {
        var host: String
        var port: Int

        /// Creates the address of a host and a port.
        init(host: String, port: Int) {
            self.host = host
            self.port = port
        }

        /// Reads `HOST:PORT`, with an IPv6 address in brackets.
        init?(_ text: String) {
            guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
                (0...65535).contains(port)
            else { return nil }
            var host = String(text[..<colon])
            if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
            guard !host.isEmpty else { return nil }
            self.host = host
            self.port = port
        }

        /// `true` if only this machine reaches the address.
        var isLoopback: Bool { Loopback.contains(self.host) }

        var description: String {
            self.host.contains(":") ? "[\(self.host)]:\(self.port)" : "\(self.host):\(self.port)"
        }
    }

    var dataFolder: String
    var keyFile: String
    var bind = Endpoint(host: "127.0.0.1", port: 8080)
    var operationsBind = Endpoint(host: "127.0.0.1", port: 9090)
    /// The base address for people and services, with its path if the address has a path, without a slash at its end.
    var issuer = ""
    /// The name of the deployment: on pages, in letters, on phones, and in one-time passwords' labels.
    var serviceName = "Countersign"
    /// The address at which the data folder's people were enrolled, if the operator wants to replace it by another
    /// address.
    var formerIssuer: String?
    /// The number of connections that the public listener may have; `nil` for the rest of the process's limit.
    var connections: Int?
    var trustedProxies: [String] = []
    /// `true` if clients can register themselves.
    var clientRegistration = false
    /// `true` if anybody can register a client.
    var openClientRegistration = false
    /// `true` if a client's identifier can be the address of its metadata.
    var clientIDDocuments = false
    /// A file of the issuers that may vouch for the software of clients.
    var softwareStatements: String?
    /// The version of the terms that everybody has to agree to, and the address at which people read the terms.
    var termsVersion: String?
    var termsURI: String?
    /// The names that the app sign-in service uses.
    var signInService = SignInService.Names()
    /// The rules of personalised identities.
    var identities = IdentityRules()
    /// Private networks, as CIDR, in which the server may call services.
    var outgoingNetworks: [String] = []
    /// Private networks, as CIDR, in which the server may call the push services that devices name.
    var pushNetworks: [String] = []
    /// The certification authorities that calls trust beside the machine's, PEM.
    var caFile: String?
    /// The apps that may answer: the terminal phone unless the operator leaves the phone out, and the named apps.
    var facets: [String] = []
    /// A file of the operator's apps, whose facets are added to ``facets``.
    var appsFile: String?
    /// `true` if the terminal phone may not answer.
    var noTerminalPhone = false
    /// The evidence about apps that register devices.
    var appAttestation = AppAttestationSettings()
    /// A folder of metadata statements beside the program's statements, and of revocations.
    var metadataFolder: String?
    /// A folder of policies that relying parties may name.
    var policiesFolder: String?
    /// Files of certificates, PEM. A phone must have seen one of the certificates while getting its request.
    var channelBinding: [String] = []
    /// `true` if phones that do not tell the certificate may answer all the same.
    var channelBindingIfTold = false
    /// The names of the exceptions from ``Leniency``.
    var lenient: [String] = []
    /// Versions of UAF that responses may have.
    var versions = ProtocolVersions.usual
    /// Extensions of responses beside the extensions that the server knows anyway.
    var extensions: [String] = []
    /// A list of forbidden passwords.
    var breachedPasswords: String?
    /// A simulated register of people, for clients of the app sign-in service.
    var simulatedPeople: String?
    /// A command that takes mail as `sendmail -t` does, and the sender of mail.
    var mailCommand: String?
    var mailFrom: String?
    /// The push services that reach people's devices.
    var push = PushSettings()
    /// The socket of the service that evaluates PINs.
    var pinService: String?
    var tlsCertificate: String?
    var tlsKey: String?
    /// The listener that asks clients for their certificates.
    var mtlsBind: Endpoint?
    /// The address of that listener for clients.
    var mtlsAddress: String?
    /// The authorities that issue clients' certificates, PEM.
    var mtlsAuthorities: String?
    /// The certificate chain and the key of that listener; `nil` without the listener.
    var mtlsCertificate: String?
    var mtlsKey: String?
    var traceFile: String?
    var tracesBeyondLoopback = false
    var logFormat = LineLog.Format.text
    var logLevel = Logger.Level.info
    /// Lifetimes in seconds, budgets and shares, by the name of their limit, e.g. `claimedLifetime`.
    var limits: [String: Int] = [:]

    /// Creates the configuration of a server without any setting.
    init(environment: [String: String]) {
        self.dataFolder = Self.absolute(DataFolder.defaultPath(environment))
        self.keyFile = Self.absolute(DataFolder.defaultKeyPath(environment))
    }

    /// The configuration of a server without any setting. The settings' help texts and the printed settings quote its
    /// values.
    static let usual = ServeConfiguration(environment: [:])
}

extension ServeConfiguration {
    /// Fills in the values that follow from other values.
    mutating func complete(isIssuerGiven: Bool) {
        if !isIssuerGiven {
            // The name `localhost` leads to the IPv4 address first, at which nobody would listen.
            let host = self.bind.isLoopback && self.bind.host.contains(":") ? "[\(self.bind.host)]" : "localhost"
            self.issuer = "\(self.tlsCertificate == nil ? "http" : "https")://\(host):\(self.bind.port)"
        }
        self.facets = Self.facets(self.facets, withoutTerminalPhone: self.noTerminalPhone)
        guard let bind = self.mtlsBind else { return }
        self.mtlsCertificate = self.mtlsCertificate ?? self.tlsCertificate
        self.mtlsKey = self.mtlsKey ?? self.tlsKey
        if self.mtlsAddress == nil {
            let host = URLComponents(string: self.issuer)?.host ?? ""
            self.mtlsAddress = "https://\(host):\(bind.port)"
        }
    }

    /// Returns the apps with an entry; none without a file. Throws ``CommandFailure`` for a file that cannot be used.
    func apps() throws -> [AppEntry] { try self.appsFile.map { try AppsFile(path: $0).apps() } ?? [] }

    /// Returns the rule of the evidence about apps; `nil` for a server that wants none. Throws ``CommandFailure``.
    func appAttestationPolicy() throws -> AppAttestationPolicy? {
        let issuer = URLComponents(string: self.issuer)?.host ?? ""
        return try self.appAttestation.policy(
            isLoopback: self.bind.isLoopback && Loopback.contains(issuer), adding: try self.apps().compactMap(\.apple))
    }

    /// Returns the path from the root of a path from the working folder or from a home folder.
    static func absolute(_ path: String) -> String {
        URL(fileURLWithPath: (path as NSString).expandingTildeInPath).standardizedFileURL.path
    }

    /// Checks the values that have to go together. Throws a usage ``CommandFailure``.
    func check() throws {
        guard let issuer = PublicAddress(self.issuer), issuer.text == self.issuer else {
            // The text of the setting may hold a password.
            throw CommandFailure(
                .usage, "issuer takes scheme, host, port and path alone, such as https://sign-in.example.com",
                remedy:
                    "A path has at most \(Limits.Commands.addressPathLetters) letters of a-z A-Z 0-9 - . _ ~ and slashes."
            )
        }
        guard issuer.isProtected else {
            throw CommandFailure(
                .usage, "the issuer \(self.issuer) is not https",
                remedy: "Only a loopback address may do without TLS (--tls-certificate, or a proxy in front).")
        }
        let name = self.serviceName.unicodeScalars
        guard (1...Limits.Fixed.shownNameCharacters).contains(name.count), name.first != " ", name.last != " ",
            !name.contains(where: DisplayText.isForbidden)
        else {
            throw CommandFailure(
                .usage,
                "serviceName takes \(Limits.Fixed.shownNameCharacters) characters at most, that all show, without spaces around them"
            )
        }
        guard !self.channelBindingIfTold || !self.channelBinding.isEmpty else {
            throw CommandFailure(.usage, "--channel-binding-if-told needs the certificates of --channel-binding")
        }
        _ = try Leniency(self.lenient)
        guard try ProtocolVersions.versions(self.versions).contains(.uaf11) else {
            throw CommandFailure(
                .usage, "versions must have 1.1", remedy: "Requests are of UAF 1.1; what is added is taken in answers.")
        }
        guard (self.tlsCertificate == nil) == (self.tlsKey == nil) else {
            throw CommandFailure(.usage, "--tls-certificate and --tls-key go together")
        }
        guard (self.mailCommand == nil) == (self.mailFrom == nil) else {
            throw CommandFailure(.usage, "--mail-command and --mail-from go together")
        }
        try self.push.check(hasApps: self.appsFile != nil)
        try self.appAttestation.check(hasApps: self.appsFile != nil)
        guard self.softwareStatements == nil || self.clientRegistration || self.openClientRegistration else {
            throw CommandFailure(
                .usage, "--software-statements needs --client-registration or --open-client-registration")
        }
        guard (self.termsVersion == nil) == (self.termsURI == nil) else {
            throw CommandFailure(.usage, "--terms-version and --terms-uri go together")
        }
        if let version = self.termsVersion {
            let isWord = version.utf8.allSatisfy { (0x21...0x7E).contains($0) }
            guard isWord, (1...Limits.Fixed.termsVersionLetters).contains(version.utf8.count) else {
                throw CommandFailure(
                    .usage,
                    "termsVersion takes one word of \(Limits.Fixed.termsVersionLetters) letters at most, as 2027-01")
            }
        }
        try Self.check(self.signInService, of: URLComponents(string: self.issuer)?.host ?? "")
        if let address = self.termsURI, (try? RedirectURI(address)) == nil {
            throw CommandFailure(.usage, "termsUri takes an address that people can open, https")
        }
        guard self.bind.isLoopback || self.tlsCertificate != nil || !self.trustedProxies.isEmpty else {
            throw CommandFailure(
                .usage, "listening at \(self.bind) without TLS would show secrets to the network",
                remedy: "Give --tls-certificate and --tls-key, or --trusted-proxies where a proxy ends TLS.")
        }
        try self.checkMutualTLS()
        if self.traceFile != nil, !self.bind.isLoopback, !self.tracesBeyondLoopback {
            throw CommandFailure(
                .usage, "--trace records who does what, and \(self.bind) is not loopback",
                remedy: "Add --trace-beyond-loopback if you mean it.")
        }
    }

    private func checkMutualTLS() throws {
        guard self.mtlsBind != nil else {
            guard self.mtlsAddress == nil, self.mtlsAuthorities == nil, self.mtlsCertificate == nil,
                self.mtlsKey == nil
            else {
                throw CommandFailure(
                    .usage, "--mtls-address, --mtls-ca, --mtls-certificate and --mtls-key need --mtls-bind")
            }
            return
        }
        guard self.mtlsCertificate != nil, self.mtlsKey != nil else {
            throw CommandFailure(
                .usage, "--mtls-bind needs a certificate",
                remedy: "Give --mtls-certificate and --mtls-key, or --tls-certificate and --tls-key.")
        }
        guard let address = self.mtlsAddress, address.hasPrefix("https://"), let read = PublicAddress(address),
            read.text == address, read.path.isEmpty, address != self.issuer
        else {
            throw CommandFailure(
                .usage, "--mtls-address takes https://HOST or https://HOST:PORT, and another one than --issuer")
        }
    }

    /// Returns the terminal phone, unless the operator leaves the phone out, and the named apps, each once.
    private static func facets(_ named: [String], withoutTerminalPhone: Bool) -> [String] {
        let phone = "linux:program:countersign-phone"
        let others = named.filter { !$0.hasSameBytes(as: phone) }
        return others.reduce(into: withoutTerminalPhone ? [] : [phone]) { facets, facet in
            if !facets.containsBytes(of: facet) { facets.append(facet) }
        }
    }

    /// Warnings about settings that are allowed, but probably a mistake.
    var warnings: [String] {
        var warnings: [String] = []
        if self.facets.isEmpty, self.appsFile == nil {
            warnings.append(
                "No app may answer: facets and apps name none, and noTerminalPhone leaves the terminal phone out.")
        }
        if self.appAttestation.simulatedRoot != nil {
            warnings.append(
                "Attestations of a simulated root count, and Apple's do not: nobody learns from them which app registers."
            )
        }
        if self.issuer.hasPrefix("https://"), self.tlsCertificate == nil, self.trustedProxies.isEmpty {
            warnings.append(
                """
                The issuer is https, but nothing ends TLS here, and no proxy is named: everybody would seem to come from \
                one address, and share its budgets. Give --tls-certificate and --tls-key, or --trusted-proxies.
                """)
        }
        return warnings
    }

    /// Checks the names of the app sign-in service. Cookies' names are tokens, and a domain is a host in small letters
    /// (RFC 6265, section 4.1.1).
    ///
    /// The function refuses names that browsers would ignore without a word: a domain that does not contain the
    /// server's host (section 5.3), and the names `__Host-…` and `__Secure-…`. These prefixes promise for all cookies a
    /// property that only some cookies have.
    private static func check(_ names: SignInService.Names, of host: String) throws {
        func isName(_ text: String, with others: String) -> Bool {
            (1...Limits.Fixed.hostBytes).contains(text.utf8.count)
                && text.utf8.allSatisfy { byte in
                    (0x30...0x39).contains(byte) || (0x61...0x7A).contains(byte) || others.utf8.contains(byte)
                }
        }
        guard isName(names.cookiePrefix, with: "_-ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
            names.cookiePrefix.utf8.count <= Limits.Fixed.cookiePrefixLetters,
            !names.cookiePrefix.hasBytes(atStart: "__")
        else {
            let most = Limits.Fixed.cookiePrefixLetters
            throw CommandFailure(
                .usage, "signInCookiePrefix takes letters, digits, - and _, \(most) at most, and does not begin with __"
            )
        }
        if let domain = names.cookieDomain {
            guard isName(domain, with: ".-"), domain.utf8.contains(UInt8(ascii: ".")) else {
                throw CommandFailure(.usage, "signInCookieDomain takes a domain in small letters, as va.example")
            }
            guard host.hasSameBytes(as: domain) || host.hasBytes(atEnd: "." + domain) else {
                throw CommandFailure(
                    .usage,
                    "Browsers take no cookies for \(domain) from \(host): signInCookieDomain is that host, or a domain above it"
                )
            }
        }
        if let issuer = names.issuer {
            guard (1...Limits.Fixed.signInServiceWordBytes).contains(issuer.utf8.count) else {
                throw CommandFailure(
                    .usage, "signInIssuer takes a text of \(Limits.Fixed.signInServiceWordBytes) bytes")
            }
        }
    }
}
