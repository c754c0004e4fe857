/// The data for a judgement about keys that a registered device states for itself.
package struct DeviceIdentityScene: Sendable, Equatable {
    /// `true` if the device has keys for itself already.
    package let hasKeys: Bool
    /// `true` if one of the stated keys belongs to another account, or to another pair.
    package let isTaken: Bool
    /// `true` if any device has one of the stated keys, in either place.
    package let isKnown: Bool
    /// The sealed name of the device; `nil` if the device is no active device of the account.
    package let sealedName: [UInt8]?

    /// Joins the parts of a scene.
    package init(hasKeys: Bool, isTaken: Bool, isKnown: Bool, sealedName: [UInt8]?) {
        self.hasKeys = hasKeys
        self.isTaken = isTaken
        self.isKnown = isKnown
        self.sealedName = sealedName
    }
}

/// The effect of keys that a registered device states for itself.
package enum DeviceIdentityVerdict: Sendable, Equatable {
    /// Nothing changes. The authentication itself stays valid.
    case ignored
    /// The keys are the device's first keys.
    case kept
    /// The keys take the place of the device's keys. The person is told with the device's name.
    case replaces(DeviceIdentityAddition.Replacement, sealedName: [UInt8])
}

extension DeviceIdentityAddition {
    /// Judges the stated keys.
    ///
    /// First keys are taken unless they belong to another account or to another pair. Keys that replace others must be
    /// keys that no device has had, because by one answer of one device the keys would belong to two devices. This
    /// holds even if both registrations may be of the same phone.
    package func verdict(on scene: DeviceIdentityScene) -> DeviceIdentityVerdict {
        guard scene.hasKeys else { return scene.isTaken ? .ignored : .kept }
        guard let replacement = self.replacement, !scene.isKnown, let name = scene.sealedName else { return .ignored }
        return .replaces(replacement, sealedName: name)
    }
}
