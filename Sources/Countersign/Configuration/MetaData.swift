import Ceremony
import Foundation

/// The version of the SDK and the identity of the app that uses the SDK.
public enum MetaData {
    /// The SDK's version, by semantic versioning.
    public static let mobileAuthenticationVersion = ProductRelease.version

    /// The identity of this app as a server's facet list names it (FIDO AppID and Facet Specification 1.1).
    ///
    /// `ios:bundle-id:` and the bundle's identifier on Apple's systems, `linux:program:` and the program's name elsewhere.
    public static var applicationFacetID: String {
        #if canImport(Darwin)
            "ios:bundle-id:" + (Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName)
        #else
            "linux:program:" + ProcessInfo.processInfo.processName
        #endif
    }
}
