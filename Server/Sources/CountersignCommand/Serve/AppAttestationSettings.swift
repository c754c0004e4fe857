import NIOSSL
import UAF
import UAFRelyingParty
import _Primitives

/// The settings of the evidence about apps that register devices (decision 124).
struct AppAttestationSettings: Sendable, Equatable {
    /// The need for evidence.
    enum Need: String, Sendable, CaseIterable {
        /// No request asks for evidence, and evidence counts for nothing.
        case off
        /// Requests ask for evidence. Missing evidence is no reason against a registration, wrong evidence is one.
        case optional
        /// A registration without right evidence is refused, unless its app is excepted.
        case required
    }

    var need = Need.off
    /// The apps whose attestations count: `TEAM.BUNDLE` or `TEAM.BUNDLE=development`.
    var apps: [String] = []
    /// The facets that may register without evidence although evidence is required.
    var exceptedFacets: [String] = []
    /// A file of a simulated root, PEM, which takes the place of Apple's root.
    var simulatedRoot: String?

    /// Checks the settings that go together. Reads no file. Throws a usage ``CommandFailure``.
    ///
    /// - Parameter hasApps: `true` if a file of the operator's apps names apps too.
    func check(hasApps: Bool = false) throws {
        guard self.need != .off || (self.apps.isEmpty && self.exceptedFacets.isEmpty && self.simulatedRoot == nil)
        else {
            throw CommandFailure(
                .usage,
                "--attested-apps, --unattested-facets and --simulated-app-root need --app-attestation optional or required"
            )
        }
        guard self.need == .off || !self.apps.isEmpty || hasApps else {
            throw CommandFailure(
                .usage, "--app-attestation needs --attested-apps or --apps",
                remedy: "An app is TEAM.BUNDLE, such as ABCDE12345.com.example.bank.")
        }
        guard self.need == .required || self.exceptedFacets.isEmpty else {
            throw CommandFailure(.usage, "--unattested-facets needs --app-attestation required")
        }
        _ = try self.attestedApps()
        _ = try self.facets()
    }

    /// Returns the policy; `nil` without a need. Throws ``CommandFailure`` for a file that cannot be used, and for a
    /// simulated root at a server that others reach.
    ///
    /// - Parameters:
    ///   - isLoopback: `true` if only this machine reaches the server.
    ///   - entries: The apps of the operator's file, whose attestations count too.
    func policy(isLoopback: Bool, adding entries: [AttestedApp] = []) throws -> AppAttestationPolicy? {
        guard let need = AppAttestationWish.Need(self.need) else { return nil }
        guard self.simulatedRoot == nil || isLoopback else {
            throw CommandFailure(
                .usage, "--simulated-app-root is for a server that only this machine reaches",
                remedy: "Whoever has the simulated root's key can pass any program off as your app.")
        }
        var apps = try self.attestedApps()
        apps += entries.filter { !apps.contains($0) }
        guard !apps.isEmpty else {
            throw CommandFailure(
                .usage, "--app-attestation needs an app of Apple's systems, and --apps names none",
                remedy: "An entry of --apps names such an app by team and bundle.")
        }
        let verifier: AppAttestationVerifier
        do {
            verifier = try AppAttestationVerifier(apps: apps, roots: try self.roots())
        } catch is UAFError {
            throw CommandFailure(.usage, "the certificate of --simulated-app-root cannot be used")
        }
        return AppAttestationPolicy(need, verifier: verifier, exceptedFacets: try self.facets())
    }

    private func attestedApps() throws -> [AttestedApp] {
        try self.apps.map { text in
            do { return try AttestedApp(text) } catch {
                throw CommandFailure(
                    .usage, "\(text) is not an attested app",
                    remedy: "An app is TEAM.BUNDLE, and TEAM.BUNDLE=development for builds of Xcode.")
            }
        }
    }

    private func facets() throws -> [FacetID] {
        try self.exceptedFacets.map { text in
            do { return try FacetID(text) } catch {
                throw CommandFailure(.usage, "\(text) is not a facet id")
            }
        }
    }

    private func roots() throws -> [[UInt8]] {
        guard let path = self.simulatedRoot else { return [AppAttestationVerifier.appleRoot] }
        guard let certificates = try? NIOSSLCertificate.fromPEMFile(path), !certificates.isEmpty,
            let roots = try? certificates.map({ try $0.toDERBytes() })
        else {
            throw CommandFailure(
                .usage, "\(path) cannot be read as certificates in PEM", remedy: "--simulated-app-root names the file.")
        }
        return roots
    }
}

extension AppAttestationWish.Need {
    fileprivate init?(_ need: AppAttestationSettings.Need) {
        switch need {
        case .off: return nil
        case .optional: self = .optional
        case .required: self = .required
        }
    }
}
