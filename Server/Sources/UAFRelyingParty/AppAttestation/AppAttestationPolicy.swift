import Foundation
public import UAF
public import _Primitives

/// The rule by which a server wants evidence about the apps that register devices (decision 124).
///
/// Evidence that is present has to be right, whatever the need is. Evidence may be missing by this policy alone.
public struct AppAttestationPolicy: Sendable {
    /// The consequence of missing evidence.
    public let need: AppAttestationWish.Need
    private let verifier: AppAttestationVerifier
    private let exceptedFacets: [FacetID]

    /// Makes a policy.
    ///
    /// - Parameters:
    ///   - need: The consequence of missing evidence.
    ///   - verifier: The verifier, with the list of apps.
    ///   - exceptedFacets: The apps that may register without evidence although evidence is required, such as the
    ///     apps of another system. An app states its facet itself, so that each exception is a way around the policy.
    public init(_ need: AppAttestationWish.Need, verifier: AppAttestationVerifier, exceptedFacets: [FacetID] = []) {
        self.need = need
        self.verifier = verifier
        self.exceptedFacets = exceptedFacets.map(\.normalized)
    }

    /// Returns the wish for a request of a registration. With excepted apps the wish is `optional`, because an excepted
    /// app would not go on without evidence otherwise.
    ///
    /// - Parameter kept: The name of the attested key that the device has; `nil` for none.
    public func wish(kept keyID: [UInt8]? = nil) -> AppAttestationWish {
        AppAttestationWish(
            self.exceptedFacets.isEmpty ? self.need : .optional, keyID: keyID.map { Data($0).base64EncodedString() })
    }

    /// Judges the evidence beside a registration. Returns the app's key, with the counter that the caller stores before
    /// the registration counts; `nil` if evidence is missing and may be missing.
    ///
    /// - Parameters:
    ///   - evidence: The evidence that the app sent.
    ///   - facetID: The app's own statement about its name, which the registration's assertion covers.
    ///   - clientDataHash: The hash that the evidence has to sign (``AppEvidence/clientDataHash``); `nil` for a device
    ///     without keys of its own, for which no evidence counts.
    ///   - kept: The attested key that the device has; `nil` for none.
    ///   - now: The time at which the certificates have to be valid.
    ///
    /// Throws ``AppAttestationRefusal``.
    public func verify(
        _ evidence: AppEvidence?, of facetID: FacetID, clientDataHash: [UInt8]?, kept: AttestedAppKey?,
        at now: Timestamp
    ) throws(AppAttestationRefusal) -> AttestedAppKey? {
        guard let evidence else {
            guard self.need == .optional || self.exceptedFacets.contains(facetID.normalized) else { throw .missing }
            return nil
        }
        guard let clientDataHash else { throw .otherClientData }
        let key: AttestedAppKey
        switch evidence {
        case .attestation(let object, let keyID):
            guard let name = Data(base64Encoded: keyID) else { throw .malformed }
            key = try self.verifier.verify(
                attestation: object, keyID: Array(name), clientDataHash: clientDataHash, at: now)
        case .assertion(let object):
            guard let kept else { throw .unknownKey }
            // The operator may have taken the app off the list since.
            guard self.verifier.apps.contains(kept.app) else { throw .foreignApp }
            key = try kept.verify(assertion: object, clientDataHash: clientDataHash)
        }
        guard key.app.isNamed(by: facetID) else { throw .otherFacet }
        return key
    }
}

extension AttestedApp {
    private static let facetScheme = "ios:bundle-id:"

    /// Returns `false` for a facet that names another bundle (FIDO AppID and Facets 1.1, section 3.1.1). A facet of
    /// another form, such as a web origin, names no bundle.
    fileprivate func isNamed(by facetID: FacetID) -> Bool {
        !facetID.text.hasBytes(atStart: Self.facetScheme)
            || facetID.text.hasSameBytes(as: Self.facetScheme + self.bundleID)
    }
}
