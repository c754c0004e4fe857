public import UAF
import _Primitives

/// What a server accepts in every operation.
public struct RelyingPartyConfiguration: Sendable {
    /// The models of authenticators.
    public var metadata: MetadataCatalog
    /// The protocol versions that responses may have.
    public var versions: Set<Version>
    /// Who may call for the application, beside web origins of the AppID's own host (§7.3).
    public var trustedFacets: Set<FacetID>
    /// What the TLS channel must have been.
    public var channelBinding: ChannelBindingRule
    /// Extensions that are understood or known to be harmless, in messages and in assertions.
    /// The operator's own words, told by their bytes.
    public var knownExtensions: Set<String>
    /// Whether an assertion may use another attestation than the one that its criterion prefers.
    public var acceptsLessPreferredAttestation: Bool
    /// Whether authenticators may be older than their metadata trusts.
    public var acceptsOutdatedAuthenticators: Bool
    /// What is read as others write it, though the standard is against it. Responses must have been parsed with it.
    public var lenientReadings: LenientReadings

    /// The defaults are the strict ones, except that the TLS channel is not looked at: proxies end it.
    public init(
        metadata: MetadataCatalog, versions: Set<Version> = [.uaf11], trustedFacets: Set<FacetID>,
        channelBinding: ChannelBindingRule = .ignore,
        // The operator's own words.
        knownExtensions: Set<String> = [AssertionExtension.userVerificationMethodsID],
        acceptsLessPreferredAttestation: Bool = false, acceptsOutdatedAuthenticators: Bool = false,
        lenientReadings: LenientReadings = LenientReadings()
    ) {
        self.metadata = metadata
        self.versions = versions
        self.trustedFacets = Set(trustedFacets.map(\.normalized))
        self.channelBinding = channelBinding
        self.knownExtensions = knownExtensions
        self.acceptsLessPreferredAttestation = acceptsLessPreferredAttestation
        self.acceptsOutdatedAuthenticators = acceptsOutdatedAuthenticators
        self.lenientReadings = lenientReadings
    }

    /// Whether the caller may speak for the application (§7.3): listed, or a web origin of the AppID's own host.
    package func trusts(_ facetID: FacetID, for appID: String) -> Bool {
        guard facetID != .unknown else { return self.lenientReadings.section7EmptyFacetID }
        let facetID = facetID.normalized
        if self.trustedFacets.contains(facetID) { return true }
        guard let facetHost = facetID.httpsHost, let appHost = httpsHost(of: appID) else { return false }
        return facetHost.hasSameBytes(as: appHost)
    }
}

/// What a client's channel binding must say (§2.1).
public enum ChannelBindingRule: Hashable, Sendable {
    /// Anything.
    case ignore
    /// What is said about the server's certificate must be true.
    case matchIfPresent(AcceptedChannel)
    /// As ``matchIfPresent(_:)``, and something must be said.
    case required(AcceptedChannel)

    /// The certificates that the server, or what ends TLS before it, shows.
    public struct AcceptedChannel: Hashable, Sendable {
        /// The values that `serverEndPoint` may have.
        /// The operator's own words, told by their bytes.
        public var serverEndPoints: Set<String>
        /// The values that `tlsServerCertificate` may have.
        /// The operator's own words, told by their bytes.
        public var tlsServerCertificates: Set<String>

        /// Names the values.
        /// They are the operator's own words.
        public init(serverEndPoints: Set<String>, tlsServerCertificates: Set<String>) {
            self.serverEndPoints = serverEndPoints
            self.tlsServerCertificates = tlsServerCertificates
        }

        /// The channels whose server shows one of these certificates, DER; `nil` where one of them cannot be read.
        public init?(certificates: [[UInt8]]) {
            let channels = certificates.map(ChannelBinding.init(serverCertificate:))
            guard channels.allSatisfy({ $0.tlsServerCertificate != nil }) else { return nil }
            self.serverEndPoints = Set(channels.compactMap(\.serverEndPoint))
            self.tlsServerCertificates = Set(channels.compactMap(\.tlsServerCertificate))
        }
    }

    func accepts(_ binding: ChannelBinding) -> Bool {
        switch self {
        case .ignore: true
        case .matchIfPresent(let channel): self.matches(binding, channel)
        case .required(let channel):
            (binding.serverEndPoint != nil || binding.tlsServerCertificate != nil) && self.matches(binding, channel)
        }
    }

    private func matches(_ binding: ChannelBinding, _ channel: AcceptedChannel) -> Bool {
        (binding.serverEndPoint.map { channel.serverEndPoints.containsBytes(of: $0) } ?? true)
            && (binding.tlsServerCertificate.map { channel.tlsServerCertificates.containsBytes(of: $0) } ?? true)
    }
}

extension FacetID {
    /// A web origin without default port and trailing slash, in lower case; anything else as it is (§7.3). A host with
    /// letters outside ASCII is no host, so nothing is folded but the letters of ASCII.
    var normalized: FacetID {
        guard hasHTTPSScheme(self.text) else { return self }
        var text = self.text.asciiLowercased
        if text.utf8.last == UInt8(ascii: "/") { text.removeLast() }
        guard host(ofAuthority: text.dropFirst("https://".count)) != nil else { return self }
        if text.utf8.reversed().starts(with: ":443".utf8.reversed()) { text.removeLast(4) }
        return (try? FacetID(text)) ?? self
    }

    /// The host of a web origin, `https://host` or `https://host:port` and not a letter more; `nil` for any other caller.
    var httpsHost: String? {
        guard hasHTTPSScheme(self.text) else { return nil }
        return host(ofAuthority: self.text.dropFirst("https://".count))
    }
}

/// Whether an address begins with `https://`, in either case.
private func hasHTTPSScheme(_ address: String) -> Bool {
    let scheme = address.utf8.prefix("https://".utf8.count)
    return scheme.count == "https://".utf8.count
        && scheme.elementsEqual("https://".utf8) { $0 == $1 || $0 | 0x20 == $1 }
}

/// The host of an https address, in lower case; `nil` for anything else and for one with user information.
private func httpsHost(of address: String) -> String? {
    guard hasHTTPSScheme(address) else { return nil }
    return host(ofAuthority: address.dropFirst("https://".count).prefix { !"/?#".contains($0) })
}

/// The host of `host` or `host:port`, in lower case: letters, digits, dots and dashes, or an IPv6 address in brackets; the
/// port is 1 to 65535. `nil` for anything else.
private func host(ofAuthority text: Substring) -> String? {
    guard text.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
    let authority = text.asciiLowercased
    let isLiteral = authority.hasPrefix("[")
    let name = authority.prefix { isLiteral ? $0 != "]" : $0 != ":" }
    let host = isLiteral ? authority.prefix(name.count + 1) : name
    let letters = isLiteral ? name.dropFirst() : name
    guard !isLiteral || host.hasSuffix("]"), !letters.isEmpty,
        letters.utf8.allSatisfy({ letter in
            switch letter {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
            case UInt8(ascii: "g")...UInt8(ascii: "z"): !isLiteral
            default: letter == UInt8(ascii: ".") || letter == UInt8(ascii: isLiteral ? ":" : "-")
            }
        })
    else { return nil }
    let port = authority.dropFirst(host.count)
    guard port.isEmpty || isPort(port) else { return nil }
    return String(host)
}

/// Whether a text is a colon and a number from 1 to 65535, in digits alone and without leading zeros.
private func isPort(_ text: Substring) -> Bool {
    let digits = text.dropFirst()
    guard text.hasPrefix(":"), let number = UInt16(digits), number > 0 else { return false }
    return String(number) == digits
}
