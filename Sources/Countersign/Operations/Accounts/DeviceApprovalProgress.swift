#if canImport(FoundationEssentials)
    public import FoundationEssentials
#else
    public import Foundation
#endif

/// The progress of a ``DeviceApproval``, for the screen of the app.
public enum DeviceApprovalProgress: Hashable, Sendable {
    /// The code for the new device, which the app shows now.
    case code(Code)
    /// The new device has used the code, and shows its number. The SDK asks the person next.
    case answered(NewDevice)

    /// The code for a new device. The code works once, for ten minutes (settable at the server).
    public struct Code: Hashable, Sendable {
        /// The link for the new device: the link opens the app there. The link is a secret.
        public let link: String
        /// The content of a QR code for the new device. The content is a secret.
        public let qrContent: String
        /// The time until which the code can be used, by the server's clock.
        public let expiresAt: Date

        /// Creates a code. Public also for an app's own tests.
        public init(link: String, qrContent: String, expiresAt: Date) {
            self.link = link
            self.qrContent = qrContent
            self.expiresAt = expiresAt
        }
    }

    /// The new device, as the server has seen the device.
    public struct NewDevice: Hashable, Sendable {
        /// The device's own name for itself.
        public let name: String
        /// The models of the device's authenticators.
        public let model: String
        /// The network from which the device answered.
        public let network: String

        /// Creates a description. Public also for an app's own tests.
        public init(name: String, model: String, network: String) {
            self.name = name
            self.model = model
            self.network = network
        }
    }
}

extension DeviceApprovalProgress.Code: CustomStringConvertible, CustomReflectable {
    /// A description without the link and the content, which enrol a device.
    public var description: String { "DeviceApprovalProgress.Code" }
    public var customMirror: Mirror { Mirror(self, children: ["expiresAt": self.expiresAt]) }
}
