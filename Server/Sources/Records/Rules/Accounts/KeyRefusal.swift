/// The refusals of steps about keys.
package enum KeyRefusal: Sendable {
    /// Throws the refusal of a further key for a device, unless the device takes the key.
    ///
    /// - Parameter isAccountLocked: `nil` if the account has no such active device.
    package static func checkJoining(isAccountLocked: Bool?) throws(StoreError) {
        switch isAccountLocked {
        case nil: throw StoreError(.notFound, "the device is gone")
        case true?: throw StoreError(.forbidden, "the account is locked")
        case false?: break
        }
    }

    /// The reason against the registration of a key whose model and name are registered.
    package static let knownKey = "the key is registered already"

    /// The refusal of the activation of a device that does not exist.
    package static let ofActivation = StoreError(.conflict, "the device is gone")

    /// The refusal of an assertion of an app that is not by the device's present key, or whose number has counted.
    package static let ofAppCounter = StoreError(.conflict, "the counter of an app does not advance")

    /// Throws the refusal of a signature unless its counter was taken.
    ///
    /// - Parameter mayBeUsed: As of ``ofAdvance(mayBeUsed:)``. The value is read for a refusal alone.
    package static func checkAdvance(isTaken: Bool, mayBeUsed: @autoclosure () throws -> Bool?) throws {
        guard !isTaken else { return }
        throw Self.ofAdvance(mayBeUsed: try mayBeUsed())
    }

    /// Returns the refusal of a signature whose counter was not taken.
    ///
    /// - Parameter mayBeUsed: `true` if the key is active and its account is not locked; `nil` if no such key exists.
    package static func ofAdvance(mayBeUsed: Bool?) -> StoreError {
        switch mayBeUsed {
        case nil: StoreError(.notFound, "the key is gone")
        case false?: StoreError(.forbidden, "the key may not be used, or its account is locked")
        case true?: StoreError(.conflict, "a counter does not advance")
        }
    }
}
