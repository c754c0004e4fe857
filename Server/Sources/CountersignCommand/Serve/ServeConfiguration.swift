import ArgumentParser
import Ceremony
import CeremonyEngine
import Configuration
import Foundation
import Logging
import OAuth
import OAuthProvider
import Settings
import SystemPackage
import UAF
import _Primitives

/// The configuration of `countersign serve`: a YAML file < environment (`COUNTERSIGN_…`) < flags.
struct ServeConfiguration: Sendable {
    /// A local address to listen at.
    struct Endpoint: Equatable, Sendable, CustomStringConvertible {
        var host: String
        var port: Int

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
    var bind: Endpoint
    var operationsBind: Endpoint
    /// The base address for people and services, with its path if the address has a path, without a slash at its end.
    var issuer: String
    /// The name of the deployment: on pages, in letters, on phones, and in one-time passwords' labels.
    var serviceName = "Countersign"
    /// The address at which the data folder's people were enrolled, if the operator wants to replace it by another
    /// address.
    var formerIssuer: String?
    /// The number of connections that the public listener may have; `nil` for the rest of the process's limit.
    var connections: Int?
    var trustedProxies: [String]
    /// `true` if clients can register themselves.
    var clientRegistration: Bool
    /// `true` if anybody can register a client.
    var openClientRegistration: Bool
    /// `true` if a client's identifier can be the address of its metadata.
    var clientIDDocuments: Bool
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
    var outgoingNetworks: [String]
    /// The certification authorities that calls trust beside the machine's, PEM.
    var caFile: String?
    /// The apps that may answer: the terminal phone unless the operator leaves the phone out, and the named apps.
    var facets: [String]
    /// `true` if the terminal phone may not answer.
    var noTerminalPhone: Bool
    /// A folder of metadata statements beside the program's statements, and of revocations.
    var metadataFolder: String?
    /// A folder of policies that relying parties may name.
    var policiesFolder: String?
    /// Files of certificates, PEM. A phone must have seen one of the certificates while getting its request.
    var channelBinding: [String]
    /// `true` if phones that do not tell the certificate may answer all the same.
    var channelBindingIfTold: Bool
    /// The names of the exceptions from ``Leniency``.
    var lenient: [String]
    /// Versions of UAF that responses may have.
    var versions: String
    /// Extensions of responses beside the extensions that the server knows anyway.
    var extensions: [String]
    /// A list of forbidden passwords.
    var breachedPasswords: String?
    /// A simulated register of people, for clients of the app sign-in service.
    var simulatedPeople: String?
    /// A command that takes mail as `sendmail -t` does, and the sender of mail.
    var mailCommand: String?
    var mailFrom: String?
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
    var mtlsCertificate: String?
    var mtlsKey: String?
    var traceFile: String?
    var tracesBeyondLoopback: Bool
    var logFormat: LineLog.Format
    var logLevel: Logger.Level
    /// Lifetimes in seconds, budgets and shares, by the name of their limit, e.g. `claimedLifetime`.
    var limits: [String: Int]
}

extension ServeConfiguration {
    /// Merges the three sources. Throws ``CommandFailure`` with the key that is wrong.
    static func load(
        file: String?, flags: [String: String], environment: [String: String] = ProcessInfo.processInfo.environment
    ) async throws -> ServeConfiguration {
        let names = SettingNames()
        var providers: [any ConfigProvider] = [
            InMemoryProvider(
                name: "flags",
                values: Dictionary(
                    uniqueKeysWithValues: flags.map {
                        (AbsoluteConfigKey([$0.key]), ConfigValue(.string($0.value), isSecret: false))
                    })),
            EnvironmentVariablesProvider(environmentVariables: environment).prefixKeys(with: "countersign"),
        ]
        if let file {
            do {
                providers.append(
                    try await FileProvider<YAMLSnapshot>(
                        parsingOptions: .init(secretsSpecifier: names.ofFile), filePath: FilePath(file)))
            } catch {
                guard FileManager.default.fileExists(atPath: file) else {
                    throw CommandFailure(.notFound, "there is no configuration file \(file)")
                }
                throw CommandFailure(.usage, "the configuration file \(file) cannot be read: \(error)")
            }
        }
        let reader = ConfigReader(providers: providers, accessReporter: names)
        let bind = try Self.endpoint(reader, "bind", otherwise: "127.0.0.1:8080")
        let certificate = reader.string(forKey: "tlsCertificate")
        // The name `localhost` leads to the IPv4 address first, at which nobody would listen.
        let host = bind.isLoopback && bind.host.contains(":") ? "[\(bind.host)]" : "localhost"
        let scheme = certificate == nil ? "http" : "https"
        let dataFolder = reader.string(forKey: "data", default: DataFolder.defaultPath(environment))
        let noTerminalPhone = try Self.flag(reader, "noTerminalPhone")
        var configuration = ServeConfiguration(
            dataFolder: Self.absolute(dataFolder),
            keyFile: Self.absolute(reader.string(forKey: "keyFile", default: DataFolder.defaultKeyPath(environment))),
            bind: bind,
            operationsBind: try Self.endpoint(reader, "operationsBind", otherwise: "127.0.0.1:9090"),
            issuer: reader.string(forKey: "issuer", default: "\(scheme)://\(host):\(bind.port)"),
            formerIssuer: reader.string(forKey: "formerIssuer"),
            connections: try Self.count(reader, "connections"),
            trustedProxies: Self.list(Self.several(reader, "trustedProxies")),
            clientRegistration: try Self.flag(reader, "clientRegistration"),
            openClientRegistration: try Self.flag(reader, "openClientRegistration"),
            clientIDDocuments: try Self.flag(reader, "clientIdDocuments"),
            softwareStatements: reader.string(forKey: "softwareStatements").map(Self.absolute),
            termsVersion: reader.string(forKey: "termsVersion"), termsURI: reader.string(forKey: "termsUri"),
            outgoingNetworks: Self.list(Self.several(reader, "outgoingNetworks")),
            caFile: reader.string(forKey: "caFile").map(Self.absolute),
            facets: Self.facets(Self.list(Self.several(reader, "facets")), withoutTerminalPhone: noTerminalPhone),
            noTerminalPhone: noTerminalPhone,
            metadataFolder: reader.string(forKey: "metadata").map(Self.absolute),
            policiesFolder: reader.string(forKey: "policies").map(Self.absolute),
            channelBinding: Self.list(Self.several(reader, "channelBinding")).map(Self.absolute),
            channelBindingIfTold: try Self.flag(reader, "channelBindingIfTold"),
            lenient: Self.list(Self.several(reader, "lenient")),
            versions: Self.several(reader, "versions") ?? "1.1",
            extensions: Self.list(Self.several(reader, "extensions")),
            breachedPasswords: reader.string(forKey: "breachedPasswords").map(Self.absolute),
            simulatedPeople: reader.string(forKey: "simulatedPeople").map(Self.absolute),
            mailCommand: reader.string(forKey: "mailCommand"), mailFrom: reader.string(forKey: "mailFrom"),
            pinService: reader.string(forKey: "pinService").map(Self.absolute),
            tlsCertificate: certificate,
            tlsKey: reader.string(forKey: "tlsKey"),
            mtlsBind: try reader.string(forKey: "mtlsBind").map { try Self.endpoint($0, "mtlsBind") },
            mtlsAddress: reader.string(forKey: "mtlsAddress"),
            mtlsAuthorities: reader.string(forKey: "mtlsCa").map(Self.absolute),
            mtlsCertificate: reader.string(forKey: "mtlsCertificate") ?? certificate,
            mtlsKey: reader.string(forKey: "mtlsKey") ?? reader.string(forKey: "tlsKey"),
            traceFile: reader.string(forKey: "trace"),
            tracesBeyondLoopback: try Self.flag(reader, "traceBeyondLoopback"),
            logFormat: try Self.choice(reader, "logFormat", otherwise: .text),
            logLevel: try Self.choice(reader, "logLevel", otherwise: .info),
            limits: [:]
        )
        configuration.serviceName = reader.string(forKey: "serviceName", default: configuration.serviceName)
        configuration.signInService = SignInService.Names(
            issuer: reader.string(forKey: "signInIssuer"),
            cookiePrefix: reader.string(forKey: "signInCookiePrefix", default: "countersign"),
            cookieDomain: reader.string(forKey: "signInCookieDomain"))
        configuration.identities.requiresSecurityReport = try Self.flag(reader, "requireSecurityReport")
        configuration.identities.acceptsRooted = try Self.flag(reader, "acceptRooted")
        configuration.identities.acceptsHooked = try Self.flag(reader, "acceptHooked")
        configuration.identities.accountFactors = try Self.accountFactors(
            Self.several(reader, "accountFactors") ?? "biometric+device,pin+device")
        configuration.identities.pinLength = try Self.pinLength(reader.string(forKey: "pinLength", default: "5-32"))
        while configuration.issuer.hasSuffix("/") { configuration.issuer.removeLast() }
        if let bind = configuration.mtlsBind, configuration.mtlsAddress == nil {
            let host = URLComponents(string: configuration.issuer)?.host ?? ""
            configuration.mtlsAddress = "https://\(host):\(bind.port)"
        }
        configuration.limits = try Self.limits(Self.several(reader, "limits"))
        try names.check(environment: environment)
        try configuration.check()
        return configuration
    }

    private static func endpoint(_ reader: ConfigReader, _ key: String, otherwise: String) throws -> Endpoint {
        try Self.endpoint(reader.string(forKey: ConfigKey([key]), default: otherwise), key)
    }

    private static func endpoint(_ text: String, _ key: String) throws -> Endpoint {
        guard let endpoint = Endpoint(text) else {
            throw CommandFailure(.usage, "\(key) takes HOST:PORT, not \(text)")
        }
        return endpoint
    }

    private static func flag(_ reader: ConfigReader, _ key: String) throws -> Bool {
        switch reader.string(forKey: ConfigKey([key]), default: "false") {
        case "true": return true
        case "false": return false
        case let text: throw CommandFailure(.usage, "\(key) takes true or false, not \(text)")
        }
    }

    private static func choice<Value: RawRepresentable<String> & CaseIterable>(
        _ reader: ConfigReader, _ key: String, otherwise: Value
    ) throws -> Value {
        guard let text = reader.string(forKey: ConfigKey([key])) else { return otherwise }
        guard let value = Value(rawValue: text) else {
            let values = Value.allCases.map(\.rawValue).joined(separator: ", ")
            throw CommandFailure(.usage, "\(key) takes one of \(values), not \(text)")
        }
        return value
    }

    private static func count(_ reader: ConfigReader, _ key: String) throws -> Int? {
        guard let text = reader.string(forKey: ConfigKey([key])) else { return nil }
        guard let count = Int(text), count > 0 else {
            throw CommandFailure(.usage, "\(key) takes a number of at least 1, not \(text)")
        }
        return count
    }

    /// Returns a setting that takes several values: one text with commas between the values or, in a file, a list.
    private static func several(_ reader: ConfigReader, _ key: String) -> String? {
        reader.string(forKey: ConfigKey([key]))
            ?? reader.stringArray(forKey: ConfigKey([key]))?.joined(separator: ",")
    }

    private static func list(_ text: String?) -> [String] {
        (text ?? "").split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
    }

    /// Reads `name=number,name=number`.
    private static func limits(_ text: String?) throws -> [String: Int] {
        var limits: [String: Int] = [:]
        for entry in self.list(text) {
            let parts = entry.split(separator: "=").map { $0.trimmingCharacters(in: .whitespaces) }
            guard parts.count == 2, let seconds = Int(parts[1]), seconds > 0 else {
                throw CommandFailure(
                    .usage, "limits takes name=number, separated by commas, not \(entry)",
                    remedy: "The number is of at least 1: seconds of a lifetime, the count of a budget or a share.")
            }
            limits[parts[0]] = seconds
        }
        return limits
    }

    private static func absolute(_ path: String) -> String {
        URL(fileURLWithPath: (path as NSString).expandingTildeInPath).standardizedFileURL.path
    }

    private func check() throws {
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
            guard self.mtlsAddress == nil, self.mtlsAuthorities == nil else {
                throw CommandFailure(.usage, "--mtls-address and --mtls-ca need --mtls-bind")
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
        if self.facets.isEmpty {
            warnings.append("No app may answer: facets names none, and noTerminalPhone leaves the terminal phone out.")
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

    /// The merged configuration as YAML, with masked secrets.
    var printed: String {
        var lines = [
            "data: \(self.dataFolder)", "keyFile: \(self.keyFile)", "bind: \(self.bind)",
            "operationsBind: \(self.operationsBind)", "issuer: \(self.issuer)", "serviceName: \(self.serviceName)",
        ]
        if let former = self.formerIssuer { lines.append("formerIssuer: \(former)") }
        if let count = self.connections { lines.append("connections: \(count)") }
        if !self.trustedProxies.isEmpty {
            lines.append("trustedProxies: \(self.trustedProxies.joined(separator: ","))")
        }
        if self.clientRegistration { lines.append("clientRegistration: true") }
        if self.openClientRegistration { lines.append("openClientRegistration: true") }
        if self.clientIDDocuments { lines.append("clientIdDocuments: true") }
        if let file = self.softwareStatements { lines.append("softwareStatements: \(file)") }
        if let version = self.termsVersion, let address = self.termsURI {
            lines += ["termsVersion: \(version)", "termsUri: \(address)"]
        }
        if let issuer = self.signInService.issuer { lines.append("signInIssuer: \(issuer)") }
        lines.append("signInCookiePrefix: \(self.signInService.cookiePrefix)")
        if let domain = self.signInService.cookieDomain { lines.append("signInCookieDomain: \(domain)") }
        if !self.outgoingNetworks.isEmpty {
            lines.append("outgoingNetworks: \(self.outgoingNetworks.joined(separator: ","))")
        }
        if let file = self.caFile { lines.append("caFile: \(file)") }
        lines.append("facets: \(self.facets.joined(separator: ","))")
        if self.noTerminalPhone { lines.append("noTerminalPhone: true") }
        if let folder = self.metadataFolder { lines.append("metadata: \(folder)") }
        if let folder = self.policiesFolder { lines.append("policies: \(folder)") }
        if self.versions != "1.1" { lines.append("versions: \(self.versions)") }
        if !self.channelBinding.isEmpty {
            lines.append("channelBinding: \(self.channelBinding.joined(separator: ","))")
            if self.channelBindingIfTold { lines.append("channelBindingIfTold: true") }
        }
        if !self.lenient.isEmpty { lines.append("lenient: \(self.lenient.joined(separator: ","))") }
        if !self.extensions.isEmpty { lines.append("extensions: \(self.extensions.joined(separator: ","))") }
        if let list = self.breachedPasswords { lines.append("breachedPasswords: \(list)") }
        if let file = self.simulatedPeople { lines.append("simulatedPeople: \(file)") }
        if let command = self.mailCommand { lines.append("mailCommand: \(command)") }
        if let from = self.mailFrom { lines.append("mailFrom: \(from)") }
        if let path = self.pinService { lines.append("pinService: \(path)") }
        lines += self.printedIdentities
        if let certificate = self.tlsCertificate { lines.append("tlsCertificate: \(certificate)") }
        if let key = self.tlsKey { lines.append("tlsKey: \(key)") }
        if let bind = self.mtlsBind {
            lines.append("mtlsBind: \(bind)")
            if let address = self.mtlsAddress { lines.append("mtlsAddress: \(address)") }
            if let file = self.mtlsAuthorities { lines.append("mtlsCa: \(file)") }
            if let certificate = self.mtlsCertificate { lines.append("mtlsCertificate: \(certificate)") }
            if let key = self.mtlsKey { lines.append("mtlsKey: \(key)") }
        }
        if let trace = self.traceFile { lines.append("trace: \(trace)") }
        if self.tracesBeyondLoopback { lines.append("traceBeyondLoopback: true") }
        if self.logFormat != .text { lines.append("logFormat: \(self.logFormat.rawValue)") }
        if self.logLevel != .info { lines.append("logLevel: \(self.logLevel.rawValue)") }
        if !self.limits.isEmpty {
            let limits = self.limits.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
            lines.append("limits: \(limits.joined(separator: ","))")
        }
        return lines.map(Self.asYAML).joined(separator: "\n")
    }

    /// Returns the line of a setting with its value in quotes if YAML would read the plain value as something else, such
    /// as the address `[::1]:8080` as a list.
    private static func asYAML(_ line: String) -> String {
        guard let colon = line.firstRange(of: ": ") else { return line }
        let value = line[colon.upperBound...]
        let isPlain =
            value.first.map { !"[]{}&*!|>'\"%@`#,?:- ".contains($0) } == true && !value.contains(": ")
            && !value.contains(" #") && value.last != " "
        guard !isPlain else { return line }
        let escaped = value.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
        return line[..<colon.upperBound] + "\"" + escaped + "\""
    }
}
