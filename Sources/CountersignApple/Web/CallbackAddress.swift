package import Countersign

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The way from the system's browser back to the app.
package enum CallbackAddress: Hashable, Sendable {
    /// An address with the app's own scheme.
    case scheme(String)
    /// An `https` address that the app has claimed by an associated domain.
    case https(host: String, path: String)

    /// Reads a registered address. Throws ``WebAuthenticationError`` `unavailable` for an address that leads to no app on
    /// a phone, such as a loopback address.
    package init(_ redirectURI: String) throws {
        guard let url = URL(string: redirectURI), let scheme = url.scheme?.asciiLetters else {
            throw WebAuthenticationError(.unavailable, "not an address")
        }
        switch scheme {
        case "https":
            guard let host = url.host(), !host.isEmpty, url.port == nil else {
                throw WebAuthenticationError(.unavailable, "an https address needs a host, and no port")
            }
            self = .https(host: host, path: url.path().isEmpty ? "/" : url.path())
        case "http": throw WebAuthenticationError(.unavailable, "a loopback address leads to no app on this device")
        default: self = .scheme(scheme)
        }
    }
}

extension String {
    /// The text with lower-case ASCII letters; `nil` for the empty text.
    fileprivate var asciiLetters: String? {
        let letters = self.utf8.map { (0x41...0x5A).contains($0) ? $0 + 0x20 : $0 }
        return letters.isEmpty ? nil : String(decoding: letters, as: UTF8.self)
    }
}

/// The meaning of the numbers of the system's sign-in on the web (`ASWebAuthenticationSessionError`).
package enum WebAuthenticationRefusal {
    /// Returns the error for a number: 1 is a person who closed the page; the others say that no page can be shown.
    package static func error(code: Int) -> WebAuthenticationError {
        code == 1 ? WebAuthenticationError(.cancelled) : WebAuthenticationError(.unavailable, "error \(code)")
    }
}
