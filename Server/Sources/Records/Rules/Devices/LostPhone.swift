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

        /// Describes a registration.
        package init(id: String, isActive: Bool, restedAt: Timestamp?) {
            self.id = id
            self.isActive = isActive
            self.restedAt = restedAt
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

    /// The devices that rest no longer after the phone's return; `nil` if the named device does not rest.
    package var returning: [String]? {
        self.named.restedAt == nil ? nil : self.all.filter { $0.restedAt != nil }.map(\.id)
    }
}
