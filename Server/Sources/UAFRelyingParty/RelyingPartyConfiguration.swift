public import UAF
import _Primitives

/// The settings that a server applies in every operation.
public struct RelyingPartyConfiguration: Sendable {
    /// The models of authenticators.
    public var metadata: MetadataCatalog
    /// The protocol versions that responses may have.
    public var versions: Set<Version>
    /// The facets that may call for the application, in addition to web origins of the AppID's own host (§7.3). Web
    /// origins are in their normal form, however they are given.
    public var trustedFacets: Set<FacetID> {
        didSet { self.trustedFacets = Set(self.trustedFacets.map(\.normalized)) }
    }
    /// The rule for the TLS channel.
    public var channelBinding: ChannelBindingRule
    /// Extensions in messages and in assertions that the server understands or knows to be harmless.
    /// The operator's own words, compared by their bytes.
    public var knownExtensions: Set<String>  // check: unicode-words
    /// `true` if an assertion may use an attestation other than the type that its criterion prefers.
    public var acceptsLessPreferredAttestation: Bool
    /// `true` if authenticators may be older than the version that their metadata trusts.
    public var acceptsOutdatedAuthenticators: Bool
    /// The deviations from the standard that are accepted because others write messages so. The same readings must be
    /// used for parsing responses.
    public var lenientReadings: LenientReadings

    /// Makes a configuration. The defaults are strict, except that the TLS channel is not checked, because proxies end
    /// the channel.
    public init(
        metadata: MetadataCatalog, versions: Set<Version> = [.uaf11], trustedFacets: Set<FacetID>,
        channelBinding: ChannelBindingRule = .ignore,
        // The operator's own words.
        knownExtensions: Set<String> = [AssertionExtension.userVerificationMethodsID],  // check: unicode-words
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

    /// Returns `true` if the caller may speak for the application (§7.3): the caller is listed, or is a web origin of
    /// the AppID's own host. An unknown caller may speak only with the lenient reading of section 7.1.
    package func trusts(_ facetID: FacetID, for appID: String) -> Bool {
        guard facetID != .unknown else { return self.lenientReadings.section7EmptyFacetID }
        let facetID = facetID.normalized
        if self.trustedFacets.contains(facetID) { return true }
        guard let facetHost = facetID.httpsHost, let appHost = httpsHost(of: appID) else { return false }
        return facetHost.hasSameBytes(as: appHost)
    }
}

/// The rule for a client's channel binding (§2.1).
public enum ChannelBindingRule: Hashable, Sendable {
    /// The channel binding is not checked.
    case ignore
    /// A statement about the server's certificate must be true. The statement may be missing.
    case matchIfPresent(AcceptedChannel)
    /// A statement about the server's certificate must be present and true, as in ``matchIfPresent(_:)``.
    case required(AcceptedChannel)

    /// The accepted certificates: the server presents them, or the proxy that ends TLS in front of the server does.
    public struct AcceptedChannel: Hashable, Sendable {
        /// The accepted values of `serverEndPoint`. The operator's own words, compared by their bytes.
        public var serverEndPoints: Set<String>  // check: unicode-words
        /// The accepted values of `tlsServerCertificate`. The operator's own words, compared by their bytes.
        public var tlsServerCertificates: Set<String>  // check: unicode-words

        /// Accepts the given values. They are the operator's own words.
        public init(serverEndPoints: Set<String>, tlsServerCertificates: Set<String>) {  // check: unicode-words
            self.serverEndPoints = serverEndPoints
            self.tlsServerCertificates = tlsServerCertificates
        }

        /// Accepts channels whose server presents one of these certificates, DER; `nil` if a certificate cannot be
        /// read.
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
    /// A web origin without default port and trailing slash, in lower case; any other facet unchanged (§7.3). A host
    /// with letters outside ASCII is no host, so only the letters of ASCII are folded.
    var normalized: FacetID {
        guard hasHTTPSScheme(self.text) else { return self }
        var text = self.text.asciiLowercased
        if text.utf8.last == UInt8(ascii: "/") { text.removeLast() }
        guard host(ofAuthority: text.dropFirst("https://".count)) != nil else { return self }
        if text.utf8.reversed().starts(with: ":443".utf8.reversed()) { text.removeLast(4) }
        return (try? FacetID(text)) ?? self
    }

    /// The host of a web origin, exactly `https://host` or `https://host:port`; `nil` for any other caller.
    var httpsHost: String? {
        guard hasHTTPSScheme(self.text) else { return nil }
        return host(ofAuthority: self.text.dropFirst("https://".count))
    }
}

/// Returns `true` if an address begins with `https://`, in either case.
private func hasHTTPSScheme(_ address: String) -> Bool {
    let scheme = address.utf8.prefix("https://".utf8.count)
    return scheme.count == "https://".utf8.count
        && scheme.elementsEqual("https://".utf8) { $0 == $1 || $0 | 0x20 == $1 }
}

/// Returns the host of an https address, in lower case; `nil` for any other address and for an address with user
/// information.
private func httpsHost(of address: String) -> String? {
    guard hasHTTPSScheme(address) else { return nil }
    return host(ofAuthority: address.dropFirst("https://".count).prefix { !"/?#".contains($0) })
}

/// Returns the host of `host` or `host:port`, in lower case: letters, digits, dots and dashes, or an IPv6 address in
/// brackets; the port is 1 to 65535. `nil` for anything else.
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

/// Returns `true` if a text is a colon and a number from 1 to 65535, in digits alone and without leading zeros.
private func isPort(_ text: Substring) -> Bool {
    let digits = text.dropFirst()
    guard text.hasPrefix(":"), let number = UInt16(digits), number > 0 else { return false }
    return String(number) == digits
}
