package import UAF
package import _Primitives

/// The abilities of a client (DiscoveryData, §2.8). The data are the same for every caller and name no key.
package struct DiscoveryData: Hashable, Sendable {
    /// `supportedUAFVersions`, the preferred version first.
    package let supportedUAFVersions: [Version]
    /// `clientVendor`
    package let clientVendor: String
    /// `clientVersion`
    package let clientVersion: Version
    /// `availableAuthenticators`: the authenticators that the device's hardware supports and that make new keys.
    package let availableAuthenticators: [DiscoveredAuthenticator]

    /// The dictionary of the data.
    package var json: JSONObject {
        [
            "supportedUAFVersions": Self.json(self.supportedUAFVersions), "clientVendor": .string(self.clientVendor),
            "clientVersion": Self.json(self.clientVersion),
            "availableAuthenticators": .array(
                self.availableAuthenticators.map { .object($0.json(versions: self.supportedUAFVersions)) }),
        ]
    }

    fileprivate static func json(_ version: Version) -> JSON {
        .object(["major": .integer(Int64(version.major)), "minor": .integer(Int64(version.minor))])
    }
    fileprivate static func json(_ versions: [Version]) -> JSON { .array(versions.map { Self.json($0) }) }
}

/// An available authenticator (Authenticator, §2.8).
package struct DiscoveredAuthenticator: Hashable, Sendable {
    /// `title`: a plain default, which an app replaces by its own words.
    package let title: String
    /// `description`: a plain default, like the title.
    package let description: String
    /// The authenticator's properties for a policy.
    package let info: AuthenticatorInfo

    /// `icon`: one transparent pixel. The standard requires a picture, and the app has a suitable picture.
    package static let icon =
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR4nGNgYAAAAAMAAbitOmMAAAAASUVORK5CYII="

    init(_ factor: AuthenticatorModel.Factor, _ info: AuthenticatorInfo) {
        (self.title, self.description) =
            switch factor {
            case .pin: ("PIN", "A PIN that this device verifies")
            case .password: ("Password", "A password that this device verifies")
            case .fingerprint: ("Fingerprint", "A finger on this device's sensor")
            case .face: ("Face", "A face that this device recognises")
            case .devicePasscode: ("Device passcode", "The passcode of this device")
            case .devicePossession: ("Device", "This device itself")
            }
        self.info = info
    }

    fileprivate func json(versions: [Version]) -> JSONObject {
        var object: JSONObject = [
            "title": .string(self.title), "aaid": .string(self.info.aaid.text),
            "description": .string(self.description), "supportedUAFVersions": DiscoveryData.json(versions),
            "assertionScheme": .string(self.info.assertionScheme.rawValue),
            "authenticationAlgorithm": .integer(Int64(self.info.authenticationAlgorithm.rawValue)),
            "attestationTypes": .array(self.info.attestationTypes.map { .integer(Int64($0.rawValue)) }),
            "userVerification": .integer(Int64(self.info.userVerification.rawValue)),
            "keyProtection": .integer(Int64(self.info.keyProtection.rawValue)),
            "matcherProtection": .integer(Int64(self.info.matcherProtection.rawValue)),
            "attachmentHint": .integer(Int64(self.info.attachmentHint.rawValue)),
            "isSecondFactorOnly": .bool(self.info.isSecondFactorOnly),
            "tcDisplay": .integer(Int64(self.info.tcDisplay.rawValue)), "icon": .string(Self.icon),
            "supportedExtensionIDs": .array([]),
        ]
        object["tcDisplayContentType"] = self.info.tcDisplayContentType.map { .string($0.rawValue) }
        if !self.info.pngCharacteristics.isEmpty {
            object["tcDisplayPNGCharacteristics"] = .array(self.info.pngCharacteristics.map(\.json))
        }
        return object
    }
}

extension MessageClient {
    /// Returns the abilities of this client (discover).
    package func discover() async -> DiscoveryData {
        let available = await self.module.authenticators.filter { $0.isSupportedByHardware && $0.makesKeys }
        return DiscoveryData(
            supportedUAFVersions: self.versions.sorted(by: >), clientVendor: "Countersign",
            clientVersion: Version(major: 1, minor: 0),
            availableAuthenticators: available.map { status in
                DiscoveredAuthenticator(status.model.factor, self.module.info(of: status.model))
            })
    }

    /// Checks that a message could be carried out, without asking a person (checkPolicy, §9.6).
    ///
    /// Throws ``OperationFailure`` as ``prepare(_:channel:)`` does, and `noSuitableAuthenticator` if no authenticator
    /// or key of this device meets the policy. The check says nothing about the person: an authenticator without an
    /// enrolment counts.
    package func checkPolicy(_ message: some Collection<UInt8>) async throws {
        let isPossible: Bool
        switch try await self.prepare(message) {
        case .registration(let prepared):
            let available = await self.module.authenticators.filter { $0.isSupportedByHardware && $0.makesKeys }
                .map(\.model)
            isPossible = await !prepared.selections(among: available).isEmpty
        case .authentication(let prepared):
            let keys = await self.module.registrations(appID: prepared.appID).map(\.name)
            isPossible = !prepared.selections(among: keys).isEmpty
        case .deregistration: isPossible = true
        }
        guard isPossible else { throw OperationFailure(.noSuitableAuthenticator, "nothing here meets the policy") }
    }
}
