import UAF
import UAFRelyingParty

/// The exceptions that an operator allows beyond the strict server, by their names in the code and in
/// docs/uaf-conformance.md.
struct Leniency: Equatable {
    /// Readings of messages.
    var readings = LenientReadings()
    /// Another attestation type than the preferred type.
    var acceptsLessPreferredAttestation = false
    /// An authenticator older than its metadata.
    var acceptsOutdatedAuthenticators = false

    private static let flags: [(name: String, path: any WritableKeyPath<Leniency, Bool> & Sendable)] = [
        ("row2Base64", \.readings.row2Base64),
        ("row3SignedDataAnywhere", \.readings.row3SignedDataAnywhere),
        ("row18ExpiredCertificates", \.readings.row18ExpiredCertificates),
        ("row20UnmarkedIssuers", \.readings.row20UnmarkedIssuers),
        ("row26ShortNonces", \.readings.row26ShortNonces),
        ("section2NoChannelBinding", \.readings.section2NoChannelBinding),
        ("section7EmptyFacetID", \.readings.section7EmptyFacetID),
        ("acceptsLessPreferredAttestation", \.acceptsLessPreferredAttestation),
        ("acceptsOutdatedAuthenticators", \.acceptsOutdatedAuthenticators),
    ]
    private static let vendorTag = "row21VendorTags"

    /// The names of all exceptions.
    static let names = Self.flags.map(\.name) + ["\(Self.vendorTag):HHHH"]

    /// Creates a set without exceptions.
    init() {}

    /// Creates a set of the named exceptions. `row21VendorTags:3FFC` is one tag of a vendor, in four hexadecimal
    /// digits.
    ///
    /// Throws ``CommandFailure`` for another name.
    init(_ names: [String]) throws {
        for name in names {
            if let flag = Self.flags.first(where: { $0.name == name }) {
                self[keyPath: flag.path] = true
            } else if name.hasPrefix(Self.vendorTag + ":"), name.count == Self.vendorTag.count + 5,
                let number = UInt16(name.dropFirst(Self.vendorTag.count + 1), radix: 16)
            {
                self.readings.row21VendorTags.insert(TLVTag(rawValue: number))
            } else {
                throw CommandFailure(
                    .usage, "there is no lenient reading \(name)",
                    remedy: "There are: \(Self.names.joined(separator: ", ")).")
            }
        }
    }
}

/// Versions of the protocol as an operator writes them.
enum ProtocolVersions {
    /// The versions without a setting.
    static let usual = "1.1"

    /// Reads `1.0,1.1`. Throws ``CommandFailure`` for another version, and for an empty list.
    static func versions(_ text: String) throws -> Set<Version> {
        let known: [Substring: Version] = ["1.0": .uaf10, "1.1": .uaf11]
        let versions = try text.split(separator: ",").map { text in
            guard let version = known[text] else {
                throw CommandFailure(.usage, "UAF \(text) is not spoken", remedy: "There are 1.0 and 1.1.")
            }
            return version
        }
        guard !versions.isEmpty else { throw CommandFailure(.usage, "no version of UAF is named") }
        return Set(versions)
    }
}
