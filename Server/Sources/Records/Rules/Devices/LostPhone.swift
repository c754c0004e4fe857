package import _Primitives

/// The registrations of one phone for an account: the named device, and the devices with the same signing key.
package struct LostPhone: Sendable, Equatable {
    /// A registration of the phone.
    package struct Registration: Sendable, Equatable {
        /// The device.
        package let id: String
        /// `true` if the registration was confirmed.
        package let isActive: Bool
        /// The moment since which the device rests; `nil` for a device in use.
        package let restedAt: Timestamp?
        /// `true` if the person has disowned the device's approval (``DeviceStanding/isDisowned``).
        package let isDisowned: Bool

        /// Describes a registration.
        package init(id: String, isActive: Bool, restedAt: Timestamp?, isDisowned: Bool = false) {
            self.id = id
            self.isActive = isActive
            self.restedAt = restedAt
            self.isDisowned = isDisowned
        }
    }

    private let named: Registration
    private let all: [Registration]

    /// Describes the phone of a named device. `nil` if the account has no such confirmed device.
    package init?(named id: String, among registrations: [Registration]) {
        let active = registrations.filter(\.isActive)
        guard let named = active.first(where: { $0.id.hasSameBytes(as: id) }) else { return nil }
        self.named = named
        self.all = active
    }

    /// The devices that rest from now on after a report; `nil` if the named device rests already. A registration that
    /// rests already keeps its moment.
    package var resting: [String]? {
        self.named.restedAt == nil ? self.all.filter { $0.restedAt == nil }.map(\.id) : nil
    }

    /// Returns the devices that rest no longer after the phone's return; `nil` if the named device does not rest, or may
    /// not return in this way. An operator gives every device back. The person takes back no device whose approval the
    /// person has disowned: the word about the approval is taken back in its own way.
    package func returning(byOperator: Bool) -> [String]? {
        let returning = self.all.filter { $0.restedAt != nil && (byOperator || !$0.isDisowned) }
        return returning.contains(self.named) ? returning.map(\.id) : nil
    }
}
