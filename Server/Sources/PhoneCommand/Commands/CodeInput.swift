import Ceremony
import Countersign
import Foundation
import _Primitives

/// The input of a person to the phone: a link, a picture with a QR code, or a typed code.
struct CodeInput: Equatable {
    enum Form: Equatable {
        case link(String)
        /// base64url, as in codes without a link.
        case encoded(String)
        case typed(String)
        /// A code of a personalised identity, or a link with such a code behind its `#`.
        case identity(String)
    }

    let form: Form

    /// Reads a command's argument: a link, a typed code, the path of a PNG file, or `-` for the standard input. The
    /// standard input holds a link, a typed code, or the bytes of the file.
    init(argument: String) throws {
        guard argument == "-" else {
            self =
                try Self.isPicture(argument)
                ? Self(text: Picture(pngFile: argument).qrCodeText()) : Self(text: argument)
            return
        }
        let data = try FileHandle.standardInput.readToEnd() ?? Data()
        self =
            try Picture.isPNG(data)
            ? Self(text: Picture(png: Array(data)).qrCodeText()) : Self(text: String(decoding: data, as: UTF8.self))
    }

    private static func isPicture(_ argument: String) -> Bool {
        argument.asciiLowercased.hasSuffix(".png")
            || (!argument.contains("://") && FileManager.default.fileExists(atPath: argument))
    }

    init(text: String) {
        let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
        // Only this form has a tilde behind its last `#`: base64url and typed codes contain no tilde.
        if text.splitBytes(at: "#").last?.utf8.contains(UInt8(ascii: "~")) ?? false,
            !text.contains("://") || text.contains("#")
        {
            self.form = .identity(text)
        } else if text.contains("://") {
            self.form = .link(text)
        } else if text.filter({ $0 != "-" && !$0.isWhitespace }).count == 10 {
            self.form = .typed(text)
        } else {
            self.form = .encoded(text)
        }
    }

    /// Returns the content that everybody can read; `nil` for a typed code, and for a payload that is encrypted to a
    /// device. Throws ``Refusal`` or the SDK's errors.
    func plainPayload() throws -> OutOfBandPayload? {
        do {
            switch self.form {
            case .typed: return nil
            case .link(let text): return try OutOfBandPayload(link: text)
            case .encoded(let text): return try OutOfBandPayload(scanned: text)
            case .identity: throw Refusal.usage("A code of a personalised identity is for `enroll` and `scan`.")
            }
        } catch let error as OutOfBandPayloadError where error.code == .decryptionError {
            return nil
        }
    }

    /// Returns the content of the code, and the server that the code leads to.
    ///
    /// Throws ``Refusal`` or the SDK's errors. A typed or encrypted code shows no server, so `server` must name it.
    func read(server: ServerAddress?) throws -> (payload: OutOfBandPayload?, server: ServerAddress) {
        guard let payload = try self.plainPayload() else {
            guard let server else {
                throw Refusal.usage("A typed or encrypted code needs --server, and which page it is from.")
            }
            return (nil, server)
        }
        guard let address = ServerAddress(redeeming: payload.redeemData.redeemURL) else {
            throw OutOfBandPayloadError(.malformedPayload, "no address")
        }
        if let server, server != address {
            throw Refusal(
                .refused, .refused, "host-not-allowed", "The code leads to \(address.text), not to \(server.text).")
        }
        return (payload, address)
    }

    /// Decodes the code with the SDK, which has the keys of the phone.
    func decoded(_ payload: OutOfBandPayload?, by client: MobileAuthenticationClient) async throws -> OutOfBandPayload {
        if let payload { return payload }
        let decode = client.operations.outOfBandPayloadDecode
        switch self.form {
        case .typed(let code): return try await decode.typedCode(code).execute()
        case .link(let text): return try await decode.link(text).execute()
        case .encoded(let text): return try await decode.scanned(text).execute()
        case .identity: throw OutOfBandPayloadError(.malformedPayload, "no code")
        }
    }
}
