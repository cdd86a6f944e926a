// The camera of the phone or laptop.

import { element, find, notify, say, words } from "./words.js";

export function isOpen() {
  return Boolean(find("video").srcObject);
}

export async function open() {
  try {
    find("video").srcObject = await navigator.mediaDevices.getUserMedia({ video: { facingMode: "environment", width: { ideal: 1920 } } });
    find("viewfinder").hidden = false;
    find("camera").ariaExpanded = "true";
    find("shoot").disabled = true; // until there is something to see
    await find("video").play();
    find("shoot").disabled = false;
    find("shoot").focus();
  } catch (error) {
    notify(say(`camera_${error.name}` in words ? `camera_${error.name}` : "no_camera"));
  }
}

export function close() {
  find("video").srcObject?.getTracks().forEach((track) => track.stop());
  find("video").srcObject = null;
  find("viewfinder").hidden = true;
  find("camera").ariaExpanded = "false";
  find("camera").focus();
}

// Returns what the camera sees, as a JPEG file.
export function shoot() {
  const video = find("video");
  const canvas = element("canvas");
  canvas.width = video.videoWidth;
  canvas.height = video.videoHeight;
  canvas.getContext("2d").drawImage(video, 0, 0);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/jpeg", 0.95));
}
