import Crypto
import Foundation
import Settings
public import UAF
public import UAFRelyingParty

/// An app of the operator, as the operator names the app once.
///
/// The facets of the app, the association files of its links, the topic of its pushes and the name in its attestations
/// follow from the entry.
public struct AppEntry: Sendable, Equatable {
    /// An app for Android.
    public struct AndroidApp: Sendable, Equatable {
        /// The name of the package: two or more words of letters, digits and underscores, joined by periods.
        public let package: String
        /// The SHA-256 fingerprints of the signing certificates, as capital hexadecimal bytes joined by colons. The
        /// system names a certificate in this form (Digital Asset Links).
        public let fingerprints: [String]
        fileprivate let facets: [FacetID]

        /// Names an app. Throws ``UAFError`` `invalidValue` for a name of another form, and for no certificate or more
        /// than 8.
        ///
        /// - Parameter certificates: The certificates that sign the app, in DER. The caller has checked that the bytes are
        ///   certificates.
        public init(package: String, certificates: [[UInt8]]) throws(UAFError) {
            let words = package.split(separator: ".", omittingEmptySubsequences: false)
            guard words.count > 1, words.allSatisfy(Self.isWord),
                package.utf8.count <= Limits.Fixed.androidPackageLetters
            else { throw UAFError(.invalidValue, "a name of a package") }
            guard (1...Limits.Fixed.certificatesPerApp).contains(certificates.count) else {
                throw UAFError(.invalidValue, "the number of an app's certificates")
            }
            self.package = package
            self.fingerprints = certificates.map { certificate in
                SHA256.hash(data: certificate).map { byte in
                    let digits = String(byte, radix: 16, uppercase: true)
                    return digits.utf8.count == 1 ? "0" + digits : digits
                }.joined(separator: ":")
            }
            var facets: [FacetID] = []
            for certificate in certificates {
                // §7.1: Base64 of SHA-1, without padding.
                let hash = Data(Insecure.SHA1.hash(data: certificate)).base64EncodedString()
                facets.append(try FacetID("android:apk-key-hash:" + hash.prefix { $0 != "=" }))
            }
            self.facets = facets
        }

        private static func isWord(_ word: Substring) -> Bool {
            func isLetter(_ byte: UInt8) -> Bool {
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                    || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
            }
            guard let first = word.utf8.first, isLetter(first) else { return false }
            return word.utf8.allSatisfy { byte in
                isLetter(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "_")
            }
        }
    }

    /// The app for Apple's systems, of the environment `production`; `nil` without such an app.
    public let apple: AttestedApp?
    /// The app for Android; `nil` without such an app.
    public let android: AndroidApp?
    /// The team and the bundle of ``apple``, joined by a period; `nil` without such an app.
    public var appleName: String? { self.apple?.name }
    /// The facets of the app (§7.1): of the bundle, and of each certificate.
    public let facets: [FacetID]

    /// Makes the entry of an app. Throws ``UAFError`` `invalidValue` for an app of no system.
    public init(apple: AttestedApp?, android: AndroidApp?) throws(UAFError) {
        guard apple != nil || android != nil else { throw UAFError(.invalidValue, "an app of no system") }
        self.apple = apple
        self.android = android
        var facets: [FacetID] = []
        if let apple { facets.append(try FacetID("ios:bundle-id:" + apple.bundleID)) }
        self.facets = facets + (android?.facets ?? [])
    }
}

extension Sequence<AppEntry> {
    /// Returns `named` and then the facets of these apps, each facet once.
    public func facets(addedTo named: [FacetID]) -> [FacetID] {
        var known: Set<FacetID> = []
        return (named + self.flatMap(\.facets)).filter { known.insert($0).inserted }
    }
}
